//! How TLS is spoken to the apiserver.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, ServerConfig};

use super::{ClientVerifier, Served};

/// The configuration of a server that shows whatever certificate `served` has at the moment, and requires a client
/// certificate where there is a verifier.
pub(super) fn server_config(
    served: Arc<Served>,
    clients: Option<Arc<ClientVerifier>>,
) -> Result<Arc<ServerConfig>, Error> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?;
    let config = match clients {
        Some(verifier) => config.with_client_cert_verifier(verifier),
        None => config.with_no_client_auth(),
    };
    let mut config = config.with_cert_resolver(served);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // The apiserver keeps no sessions: tickets would be two writes for nothing on each connection, and a resumed
    // session would not show the client a new certificate.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
