//! A handshake as the apiserver makes it.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Time enough for a connection and a handshake on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The certificate that is shown at `address` to whoever trusts `bundle` and calls by the name `host`.
pub fn shown(address: SocketAddr, bundle: &str, host: &str) -> io::Result<CertificateDer<'static>> {
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
