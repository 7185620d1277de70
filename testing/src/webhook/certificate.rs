//! Serving certificates for loopback addresses.

use k8s_openapi::ByteString;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use time::{Duration, OffsetDateTime};

/// A certificate for `127.0.0.1`.
#[derive(Debug)]
pub struct Certificate {
    pub der: CertificateDer<'static>,
    pub pem: String,
    pub key: KeyPair,
    /// Expiry as a Unix timestamp, in seconds.
    pub expires: u64,
}

/// A certificate ca.
pub struct CertificateAuthority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Certificate {
    /// Creates a self-signed certificate, which is its own CA bundle.
    pub fn new() -> Self {
        Self::with_validity(1, CertificateParams::self_signed)
    }

    fn with_validity(
        days: i64,
        sign: impl FnOnce(&CertificateParams, &KeyPair) -> Result<rcgen::Certificate, rcgen::Error>,
    ) -> Self {
        let key = KeyPair::generate().expect("generate a key");
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("set the subject alternative name");
        let now = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) = (now - Duration::hours(1), now + Duration::days(days));
        let expires = params.not_after.unix_timestamp().try_into().expect("after 1970");
        let certificate = sign(&params, &key).expect("sign the certificate");
        Self { der: certificate.der().clone(), pem: certificate.pem(), key, expires }
    }
}

impl CertificateAuthority {
    /// Creates an ca. Names must differ: of two cas with one name, clients may check against the wrong
    /// one.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("generate a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("sign the ca").pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Issues a certificate that is valid for `days`.
    pub fn certificate(&self, days: i64) -> Certificate {
        Certificate::with_validity(days, |params, key| params.signed_by(key, &self.issuer))
    }
}

/// Encodes `text` in base64, as manifests contain bytes.
pub fn base64(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).expect("serialize the bytes")
}
