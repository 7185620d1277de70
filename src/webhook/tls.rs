//! TLS configuration of the webhook.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, ServerConfig};

use super::{CertificateResolver, ClientVerifier};

/// Returns a TLS configuration that serves the current certificate of `resolver`, and requires a client certificate if
/// there is a verifier.
pub(super) fn server_config(
    resolver: Arc<CertificateResolver>,
    client_verifier: Option<Arc<ClientVerifier>>,
) -> Result<Arc<ServerConfig>, Error> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?;
    let config = match client_verifier {
        Some(verifier) => config.with_client_cert_verifier(verifier),
        None => config.with_no_client_auth(),
    };
    let mut config = config.with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // The apiserver does not resume sessions: tickets would cost two writes per connection, and a resumed session would
    // not present a renewed certificate.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
