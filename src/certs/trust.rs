//! Verifies certificates of any issuer as a TLS client does.

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use super::read;
use trainmesh_core::certs::{TrustError, Validity};

/// Returns the validity of the first certificate of `chain`; `None` if it is malformed or does not match `key`. Accepts
/// every kind of key that a TLS server can use.
#[must_use]
pub fn validity(chain: &[u8], key: &[u8]) -> Option<Validity> {
    let chain = certificates(chain);
    let key = PrivateKeyDer::from_pem_slice(key).ok()?;
    let pair = CertifiedKey::from_der(chain, key, &ring::default_provider()).ok()?;
    let (_, certificate) = X509Certificate::from_der(pair.cert.first()?).ok()?;
    read::validity(&certificate)
}

/// Verifies `chain`, PEM with the serving certificate first, as a client that trusts `bundle` and connects to `host`.
pub fn verify(chain: &[u8], bundle: &[u8], host: &str, now: Timestamp) -> Result<(), TrustError> {
    let chain = certificates(chain);
    let (certificate, intermediates) = chain.split_first().ok_or(TrustError::UnknownIssuer)?;
    let parsed = ParsedCertificate::try_from(certificate).map_err(|_| TrustError::UnknownIssuer)?;
    let host = ServerName::try_from(host).map_err(|_| TrustError::NameMismatch)?;
    verify_server_name(&parsed, &host).map_err(|_| TrustError::NameMismatch)?;
    let trusted = certificates(bundle);
    // A certificate that is trusted itself needs no issuer.
    if trusted.contains(certificate) {
        return Ok(());
    }
    let mut roots = RootCertStore::empty();
    let _ = roots.add_parsable_certificates(trusted);
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let algorithms = ring::default_provider().signature_verification_algorithms;
    verify_server_cert_signed_by_trust_anchor(&parsed, &roots, intermediates, now, algorithms.all)
        .map_err(|_| TrustError::UnknownIssuer)
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}
