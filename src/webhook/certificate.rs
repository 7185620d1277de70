//! The certificate that is served, and its renewal without a restart.

mod files;
mod secret;

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

pub use files::{CertificateFiles, LoadError};
pub use secret::CertificateSecret;

/// A certificate with its chain and key.
#[derive(Debug)]
pub struct Certificate {
    key: Arc<CertifiedKey>,
    /// Seconds since 1970, both included.
    not_before: i64,
    not_after: i64,
}

/// The certificate that is served now, if there is one. Connections that are open keep the one they were opened with.
#[derive(Debug, Default)]
pub struct Served(ArcSwapOption<Certificate>);

/// Why a pair is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// The certificates are no PEM.
    #[error("the certificate is not readable as PEM")]
    Chain(#[source] pem::Error),
    /// There is no certificate in the PEM.
    #[error("there is no certificate")]
    Empty,
    /// The first certificate is malformed.
    #[error("the first certificate is malformed")]
    Leaf(#[source] x509_parser::nom::Err<x509_parser::error::X509Error>),
    /// The key is no PEM.
    #[error("the private key is not readable as PEM")]
    Key(#[source] pem::Error),
    /// The key is of an unknown kind, or belongs to another certificate.
    #[error("certificate and private key do not make a pair")]
    Pair(#[source] rustls::Error),
}

impl Certificate {
    /// Reads a chain, the leaf first, and the leaf's key.
    pub fn parse(chain: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(CertificateError::Chain)?;
        let leaf = chain.first().ok_or(CertificateError::Empty)?;
        let (_, leaf) = X509Certificate::from_der(leaf).map_err(CertificateError::Leaf)?;
        let validity = leaf.validity();
        let (not_before, not_after) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let key = PrivateKeyDer::from_pem_slice(key).map_err(CertificateError::Key)?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(CertificateError::Pair)?;
        Ok(Self { key: Arc::new(key), not_before, not_after })
    }

    /// Whether clients whose clock says `now` take it.
    #[must_use]
    pub fn valid_at(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        i64::try_from(now).is_ok_and(|now| (self.not_before..=self.not_after).contains(&now))
    }

    /// When it expires, in seconds since 1970.
    #[must_use]
    pub fn expires(&self) -> i64 {
        self.not_after
    }
}

impl Served {
    /// Serves `certificate`.
    #[must_use]
    pub fn new(certificate: Certificate) -> Self {
        Self(ArcSwapOption::from_pointee(certificate))
    }

    /// Serves `certificate` on every new connection.
    pub fn replace(&self, certificate: Certificate) {
        self.0.store(Some(Arc::new(certificate)));
    }

    /// What is served.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Certificate>> {
        self.0.load_full()
    }
}

impl ResolvesServerCert for Served {
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
        assert_eq!(certificate.valid_at(SystemTime::UNIX_EPOCH + Duration::from_secs(now)), expected);
        assert_eq!(certificate.expires(), 1_767_312_000);
    }

    #[test]
    fn what_is_no_pair_is_refused() {
        let ((chain, key), (_, other_key)) = (pair(), pair());
        let check = |chain: &str, key: &str, expected: &str| {
            let error = Certificate::parse(chain.as_bytes(), key.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("", &key, "there is no certificate");
        check(&chain.replace("MII", "!!!"), &key, "not readable as PEM");
        check("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &key, "malformed");
        check(&chain, "", "the private key is not readable");
        check(&chain, &other_key, "do not make a pair");
    }
}
