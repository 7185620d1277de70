//! Certificates that the replicas present.

use rustls::pki_types::CertificateDer;

use trainmesh_testing::release::Release;
use trainmesh_testing::tls;

/// Returns the certificate that each replica of the webhook presents to a client that trusts `bundle`.
pub fn presented_certificates(release: &Release, bundle: &str) -> Vec<Result<CertificateDer<'static>, String>> {
    let host = trainmesh_core::objects::service_host(trainmesh_core::objects::SERVICE, &release.namespace.name);
    let pods = release.pods("webhook");
    let addresses = pods.iter().filter_map(|pod| pod["status"]["podIP"].as_str());
    let addresses = addresses.map(|ip| format!("{ip}:10250").parse().expect("an address"));
    addresses
        .map(|address| tls::served_certificate(address, bundle, &host).map_err(|error| error.to_string()))
        .collect()
}
