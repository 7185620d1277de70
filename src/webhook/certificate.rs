//! The serving certificate and its renewal without a restart.

mod files;
mod secret;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;
use x509_parser::prelude::{FromDer as _, X509Certificate};

pub use files::{CertificateFileError, CertificateFiles};
pub use secret::CertificateSecret;

/// A certificate with its chain and key.
#[derive(Debug)]
pub struct Certificate {
    key: Arc<CertifiedKey>,
    /// In seconds since the Unix epoch. A timestamp cannot represent every date of a certificate.
    validity: RangeInclusive<i64>,
}

/// The certificate served to new connections, if there is one. Open connections keep theirs.
#[derive(Debug, Default)]
pub struct CertificateResolver(ArcSwapOption<Certificate>);

/// An error in a certificate and key.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// The chain is not PEM.
    #[error("the certificate is not valid PEM")]
    Chain(#[source] pem::Error),
    /// The PEM contains no certificate.
    #[error("there is no certificate")]
    Empty,
    /// The first certificate is malformed.
    #[error("the first certificate is malformed")]
    ServingCertificate(#[source] x509_parser::nom::Err<x509_parser::error::X509Error>),
    /// The key is not PEM.
    #[error("the private key is not valid PEM")]
    Key(#[source] pem::Error),
    /// The key is of an unsupported type, or belongs to another certificate.
    #[error("certificate and private key do not match")]
    Pair(#[source] rustls::Error),
}

impl Certificate {
    /// Parses a chain, the serving certificate first, and its key.
    pub fn parse(chain: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(CertificateError::Chain)?;
        let serving = chain.first().ok_or(CertificateError::Empty)?;
        let (_, serving) = X509Certificate::from_der(serving).map_err(CertificateError::ServingCertificate)?;
        let validity = serving.validity();
        let validity = validity.not_before.timestamp()..=validity.not_after.timestamp();
        let key = PrivateKeyDer::from_pem_slice(key).map_err(CertificateError::Key)?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(CertificateError::Pair)?;
        Ok(Self { key: Arc::new(key), validity })
    }

    /// Returns true if the certificate is valid at `now`.
    #[must_use]
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        i64::try_from(now).is_ok_and(|now| self.validity.contains(&now))
    }

    /// Returns the validity period in seconds since the Unix epoch.
    #[must_use]
    pub fn validity(&self) -> &RangeInclusive<i64> {
        &self.validity
    }

    /// Returns the expiry in seconds since the Unix epoch.
    #[must_use]
    pub fn not_after(&self) -> i64 {
        *self.validity.end()
    }
}

impl CertificateResolver {
    /// Creates a resolver that serves `certificate`.
    #[must_use]
    pub fn new(certificate: Certificate) -> Self {
        Self(ArcSwapOption::from_pointee(certificate))
    }

    /// Serves `certificate` to new connections.
    pub fn replace(&self, certificate: Certificate) {
        self.0.store(Some(Arc::new(certificate)));
    }

    /// Returns the certificate.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Certificate>> {
        self.0.load_full()
    }
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load().as_ref().map(|certificate| Arc::clone(&certificate.key))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use rstest::rstest;

    use super::*;

    fn pair() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["webhook.test".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2026, 1, 2);
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    #[rstest]
    // date -u -d 2026-01-01 +%s
    #[case::too_early(1_767_225_599, false)]
    #[case::first_second(1_767_225_600, true)]
    #[case::last_second(1_767_312_000, true)]
    #[case::expired(1_767_312_001, false)]
    fn validity(#[case] now: u64, #[case] expected: bool) {
        let (chain, key) = pair();
        let certificate = Certificate::parse(chain.as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(certificate.is_valid_at(SystemTime::UNIX_EPOCH + Duration::from_secs(now)), expected);
        assert_eq!(certificate.not_after(), 1_767_312_000);
    }

    #[test]
    fn an_invalid_pair_is_rejected() {
        let ((chain, key), (_, other_key)) = (pair(), pair());
        let check = |chain: &str, key: &str, expected: &str| {
            let error = Certificate::parse(chain.as_bytes(), key.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("", &key, "there is no certificate");
        check(&chain.replace("MII", "!!!"), &key, "not valid PEM");
        check("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &key, "malformed");
        check(&chain, "", "the private key is not valid PEM");
        check(&chain, &other_key, "do not match");
    }
}
