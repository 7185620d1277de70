//! Certificates for loopback.

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
    /// In seconds since 1970.
    pub expires: u64,
}

/// Signs certificates.
pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Certificate {
    /// A self-signed one: its own CA bundle.
    pub fn new() -> Self {
        Self::lasting(1, CertificateParams::self_signed)
    }

    fn lasting(
        days: i64,
        sign: impl FnOnce(&CertificateParams, &KeyPair) -> Result<rcgen::Certificate, rcgen::Error>,
    ) -> Self {
        let key = KeyPair::generate().expect("make a key");
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("name the certificate");
        let now = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) = (now - Duration::hours(1), now + Duration::days(days));
        let expires = params.not_after.unix_timestamp().try_into().expect("after 1970");
        let certificate = sign(&params, &key).expect("sign the certificate");
        Self { der: certificate.der().clone(), pem: certificate.pem(), key, expires }
    }
}

impl Authority {
    /// Its name sets it apart: of two with one name, clients may take the wrong one for a certificate's.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("make a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("sign the authority").pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A new certificate that lasts for some days.
    pub fn certificate(&self, days: i64) -> Certificate {
        Certificate::lasting(days, |params, key| params.signed_by(key, &self.issuer))
    }
}

/// `text` as a manifest carries bytes.
pub fn base64(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).expect("bytes are JSON")
}
