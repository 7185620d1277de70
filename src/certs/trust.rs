//! Whether a client that trusts a bundle would take what a server shows, whoever has made both: as TLS judges it.

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
use trainmesh_core::certs::Dates;
use trainmesh_core::certs::Distrust;

/// When the first of `chain` is good; `None` where it cannot be read, or `key` is not its own. Any kind of key will do that
/// a server can sign with.
#[must_use]
pub fn dates(chain: &[u8], key: &[u8]) -> Option<Dates> {
    let chain = certificates(chain);
    let key = PrivateKeyDer::from_pem_slice(key).ok()?;
    let pair = CertifiedKey::from_der(chain, key, &ring::default_provider()).ok()?;
    let (_, leaf) = X509Certificate::from_der(pair.cert.first()?).ok()?;
    read::dates(&leaf)
}

/// Judges `chain`, PEM with the leaf first, as a client does that trusts `bundle` and calls the server `host`.
pub fn verify(chain: &[u8], bundle: &[u8], host: &str, now: Timestamp) -> Result<(), Distrust> {
    let chain = certificates(chain);
    let (leaf, between) = chain.split_first().ok_or(Distrust::Issuer)?;
    let parsed = ParsedCertificate::try_from(leaf).map_err(|_| Distrust::Issuer)?;
    let host = ServerName::try_from(host).map_err(|_| Distrust::Name)?;
    verify_server_name(&parsed, &host).map_err(|_| Distrust::Name)?;
    let trusted = certificates(bundle);
    // A certificate that is trusted itself needs nobody to vouch for it.
    if trusted.contains(leaf) {
        return Ok(());
    }
    let mut roots = RootCertStore::empty();
    let _ = roots.add_parsable_certificates(trusted);
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let algorithms = ring::default_provider().signature_verification_algorithms;
    verify_server_cert_signed_by_trust_anchor(&parsed, &roots, between, now, algorithms.all)
        .map_err(|_| Distrust::Issuer)
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}
