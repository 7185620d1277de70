//! The certificate that a replica shows.

use rustls::pki_types::CertificateDer;

use trainmesh_testing::release::Release;
use trainmesh_testing::tls;

/// What each replica of the webhook shows to whoever trusts `bundle`.
pub fn certificates(release: &Release, bundle: &str) -> Vec<Result<CertificateDer<'static>, String>> {
    let host = trainmesh_core::objects::service_host(trainmesh_core::objects::SERVICE, &release.home.name);
    let pods = release.pods("webhook");
    let addresses = pods.iter().filter_map(|pod| pod["status"]["podIP"].as_str());
    let addresses = addresses.map(|ip| format!("{ip}:10250").parse().expect("an address"));
    addresses.map(|address| tls::shown(address, bundle, &host).map_err(|error| error.to_string())).collect()
}
