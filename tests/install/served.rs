//! The certificate that a replica shows.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::cluster::PATIENCE;
use crate::release::Release;

/// What each replica of the webhook shows to whoever trusts `bundle`.
pub fn certificates(release: &Release, bundle: &str) -> Vec<Result<CertificateDer<'static>, String>> {
    let host = trainmesh::certs::host(trainmesh::certs::SERVICE, &release.home.name);
    let pods = release.pods("webhook");
    let addresses = pods.iter().filter_map(|pod| pod["status"]["podIP"].as_str());
    let addresses = addresses.map(|ip| format!("{ip}:10250").parse().expect("an address"));
    addresses.map(|address| shown(address, bundle, &host).map_err(|error| error.to_string())).collect()
}

fn shown(address: SocketAddr, bundle: &str, host: &str) -> io::Result<CertificateDer<'static>> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(root.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    let chain = connection.peer_certificates().unwrap_or_default();
    chain.first().map(|leaf| leaf.clone().into_owned()).ok_or_else(|| io::Error::other("no certificate was shown"))
}
