//! Issues CAs and serving certificates. Keys are ECDSA P-256: fast to generate and to use, supported by every
//! apiserver.

use std::fmt::Write as _;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _,
};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use time::OffsetDateTime;

use super::COMMON_NAME_PREFIX;
use super::key::PrivateKey;
use super::read::CertificateAuthority;
use trainmesh_core::certs::{CertificateId, Validity};

/// Common name of serving certificates; clients ignore it.
const SERVING_NAME: &str = "trainmesh webhook";

/// A serving certificate and its key.
#[derive(Clone, Debug)]
pub struct CertificateKeyPair {
    /// Certificate as PEM.
    pub certificate: String,
    /// Private key.
    pub key: PrivateKey,
}

/// A certificate could not be issued.
#[derive(Debug, Error)]
pub enum IssueError {
    /// The library failed.
    #[error("could not generate the key or certificate")]
    Issue(#[from] rcgen::Error),
    /// A time cannot be represented in a certificate.
    #[error("could not encode the validity of a certificate")]
    Date(#[from] time::error::ComponentRange),
    /// The CA has no valid key.
    #[error("the key of CA {0} is missing or invalid")]
    Key(CertificateId),
    /// The issued certificate could not be parsed.
    #[error("could not parse an issued certificate")]
    Parse,
}

/// Issues a CA.
pub fn ca(validity: Validity) -> Result<CertificateAuthority, IssueError> {
    let key = KeyPair::generate()?;
    // Unique names, because clients look up the issuer of a certificate by its name.
    let mut name = COMMON_NAME_PREFIX.to_owned();
    for byte in &Sha256::digest(key.subject_public_key_info())[..8] {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    let mut params = params(validity, &name)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = params.self_signed(&key)?;
    let mut ca = CertificateAuthority::read(&certificate.pem()).ok_or(IssueError::Parse)?;
    ca.key = Some(PrivateKey::new(key.serialize_pem()));
    Ok(ca)
}

/// Issues a serving certificate for `host`, signed by `signer`. It expires with its signer at the latest.
pub fn serving_certificate(
    signer: &CertificateAuthority,
    host: &str,
    validity: Validity,
) -> Result<CertificateKeyPair, IssueError> {
    let signing_key = signer.key.as_ref().and_then(PrivateKey::to_key_pair).ok_or(IssueError::Key(signer.id))?;
    let issuer = Issuer::from_ca_cert_pem(&signer.pem, signing_key)?;
    let key = KeyPair::generate()?;
    let mut params = params(validity.clamp_to(signer.validity), SERVING_NAME)?;
    params.subject_alt_names = vec![rcgen::SanType::DnsName(host.try_into()?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(CertificateKeyPair { certificate: certificate.pem(), key: PrivateKey::new(key.serialize_pem()) })
}

fn params(validity: Validity, name: &str) -> Result<CertificateParams, IssueError> {
    let date = |at: Timestamp| OffsetDateTime::from_unix_timestamp(at.as_second());
    let mut params = CertificateParams::default();
    params.not_before = date(validity.not_before)?;
    params.not_after = date(validity.not_after)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
