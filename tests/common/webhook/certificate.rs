//! A certificate for loopback.

use k8s_openapi::ByteString;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use serde_json::Value;

/// A self-signed certificate for `127.0.0.1`: its own CA bundle.
#[derive(Debug)]
pub struct Certificate {
    pub der: CertificateDer<'static>,
    pub pem: String,
    pub key: KeyPair,
}

impl Certificate {
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("make a key");
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("name the certificate");
        let certificate = params.self_signed(&key).expect("sign the certificate");
        Self { der: certificate.der().clone(), pem: certificate.pem(), key }
    }
}

/// `text` as a manifest carries bytes.
pub fn base64(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).expect("bytes are JSON")
}
