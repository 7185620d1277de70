//! How TLS is spoken to the apiserver.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, ServerConfig};

use super::Served;

/// The configuration of a server that shows whatever certificate `served` has at the moment.
pub(super) fn server_config(served: Arc<Served>) -> Result<Arc<ServerConfig>, Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(served);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // The apiserver keeps no sessions: tickets would be two writes for nothing on each connection, and a resumed
    // session would not show the client a new certificate.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
