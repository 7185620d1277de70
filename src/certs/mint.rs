//! New authorities and leaves. Keys are ECDSA on P-256: quick to make, quick in a handshake, known to every apiserver.

use std::fmt::Write as _;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _,
};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use time::OffsetDateTime;

use super::COMMON_NAME;
use super::key::PrivateKey;
use super::read::Authority;
use trainmesh_core::certs::{Dates, Id};

/// Nobody judges by the name of a leaf; it must have one.
const LEAF_NAME: &str = "trainmesh webhook";

/// A leaf and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The leaf, PEM.
    pub certificate: String,
    /// Its key.
    pub key: PrivateKey,
}

/// A certificate could not be made.
#[derive(Debug, Error)]
pub enum MintError {
    /// The library refused.
    #[error("could not make a certificate")]
    Make(#[from] rcgen::Error),
    /// A time is beyond what a certificate can say.
    #[error("could not write a date into a certificate")]
    Date(#[from] time::error::ComponentRange),
    /// Only those with a key sign.
    #[error("the key of the authority {0} is not readable")]
    Key(Id),
    /// What was made is not what is read.
    #[error("could not read back a certificate that was made")]
    Back,
}

/// A new authority.
pub fn authority(dates: Dates) -> Result<Authority, MintError> {
    let key = KeyPair::generate()?;
    // Two authorities of one name confuse those who look for the issuer of a leaf.
    let mut name = COMMON_NAME.to_owned();
    for byte in &Sha256::digest(key.subject_public_key_info())[..8] {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    let mut params = params(dates, &name)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = params.self_signed(&key)?;
    let mut authority = Authority::read(&certificate.pem()).ok_or(MintError::Back)?;
    authority.key = Some(PrivateKey::new(key.serialize_pem()));
    Ok(authority)
}

/// A new leaf of `signer` for `host`; it ends with its signer.
pub fn leaf(signer: &Authority, host: &str, dates: Dates) -> Result<Pair, MintError> {
    let signing = signer.key.as_ref().and_then(PrivateKey::pair).ok_or(MintError::Key(signer.id))?;
    let issuer = Issuer::from_ca_cert_pem(&signer.pem, signing)?;
    let key = KeyPair::generate()?;
    let mut params = params(dates.within(signer.dates), LEAF_NAME)?;
    params.subject_alt_names = vec![rcgen::SanType::DnsName(host.try_into()?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Pair { certificate: certificate.pem(), key: PrivateKey::new(key.serialize_pem()) })
}

fn params(dates: Dates, name: &str) -> Result<CertificateParams, MintError> {
    let date = |at: Timestamp| OffsetDateTime::from_unix_timestamp(at.as_second());
    let mut params = CertificateParams::default();
    params.not_before = date(dates.not_before)?;
    params.not_after = date(dates.not_after)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
