//! Parses CAs and serving certificates from PEM texts.

use std::fmt;

use jiff::Timestamp;
use rcgen::PublicKeyData as _;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use super::COMMON_NAME_PREFIX;
use super::key::PrivateKey;
use super::pem::{CERTIFICATE, PRIVATE_KEY, sections};
use trainmesh_core::certs::Validity;
use trainmesh_core::certs::step::{self, CertificateId};

/// A CA issued by trainmesh: a CA certificate whose common name starts with `COMMON_NAME_PREFIX`.
#[derive(Clone)]
pub struct CertificateAuthority {
    /// ID of the certificate.
    pub id: CertificateId,
    /// Validity period.
    pub validity: Validity,
    /// Certificate as PEM.
    pub pem: String,
    /// Private key, if it is known.
    pub key: Option<PrivateKey>,
    der: CertificateDer<'static>,
}

/// The CAs of one Secret or `caBundle`.
#[derive(Clone, Debug, Default)]
pub struct CaSet {
    /// CAs issued by trainmesh, without duplicates.
    pub cas: Vec<CertificateAuthority>,
    /// True if the text contains anything else.
    pub foreign: bool,
}

/// A serving certificate that matches its key.
#[derive(Clone, Debug)]
pub struct ServingCertificate {
    /// Validity period.
    pub validity: Validity,
    dns_names: Vec<String>,
    server_auth: bool,
    der: CertificateDer<'static>,
}

impl CertificateAuthority {
    /// Parses one PEM section; `None` if it is not a CA issued by trainmesh.
    pub(super) fn read(pem: &str) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let (_, parsed) = X509Certificate::from_der(&der).ok()?;
        let named = parsed.subject().iter_common_name().any(|name| name.as_str().is_ok_and(is_own_name));
        let signs = parsed.is_ca() && parsed.key_usage().ok()?.is_some_and(|usage| usage.value.key_cert_sign());
        if !named || !signs {
            return None;
        }
        let validity = validity(&parsed)?;
        Some(Self { id: CertificateId(Sha256::digest(&der).into()), validity, pem: pem.to_owned(), key: None, der })
    }

    /// Returns the facts that decisions need.
    #[must_use]
    pub fn facts(&self) -> step::CaFacts {
        step::CaFacts { id: self.id, validity: self.validity, has_key: self.key.is_some() }
    }

    /// Returns true if this CA signed `certificate`.
    #[must_use]
    pub fn has_signed(&self, certificate: &ServingCertificate) -> bool {
        let read = |der| X509Certificate::from_der(der).ok().map(|(_, parsed)| parsed);
        read(&self.der).zip(read(&certificate.der)).is_some_and(|(ca, certificate)| {
            certificate.issuer() == ca.subject() && certificate.verify_signature(Some(ca.public_key())).is_ok()
        })
    }
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.facts().fmt(formatter)
    }
}

impl CaSet {
    /// Parses certificates and the keys that match them.
    #[must_use]
    pub fn read(certificates: &[u8], keys: &[u8]) -> Self {
        // Data that is not UTF-8 is not PEM either: it counts as foreign.
        let (certificates, keys) = (str::from_utf8(certificates).unwrap_or("?"), str::from_utf8(keys).unwrap_or("?"));
        let mut found: Vec<CertificateAuthority> = Vec::new();
        for ca in sections(certificates, CERTIFICATE).filter_map(CertificateAuthority::read) {
            if found.iter().all(|known| known.id != ca.id) {
                found.push(ca);
            }
        }
        for key in sections(keys, PRIVATE_KEY).map(PrivateKey::new) {
            let Some(public) = key.to_key_pair().map(|pair| pair.subject_public_key_info()) else { continue };
            if let Some(ca) = found.iter_mut().find(|known| public_key(&known.der).as_deref() == Some(&public)) {
                ca.key = Some(key);
            }
        }
        let foreign = bundle(&found) != certificates || self::keys(&found) != keys;
        Self { cas: found, foreign }
    }

    /// Returns the facts that decisions need.
    #[must_use]
    pub fn facts(&self) -> step::CertificateSet {
        step::CertificateSet { cas: self.cas.iter().map(CertificateAuthority::facts).collect(), foreign: self.foreign }
    }
}

impl ServingCertificate {
    /// Parses the first certificate of `chain` and its key; `None` if they are malformed or do not match.
    #[must_use]
    pub fn read(chain: &[u8], key: &[u8]) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(chain).ok()?;
        let pair = PrivateKey::new(str::from_utf8(key).ok()?).to_key_pair()?;
        if public_key(&der)? != pair.subject_public_key_info() {
            return None;
        }
        let (_, parsed) = X509Certificate::from_der(&der).ok()?;
        let names = parsed.subject_alternative_name().ok()?.map(|names| {
            let names = names.value.general_names.iter();
            names.filter_map(|name| if let GeneralName::DNSName(name) = name { Some((*name).to_owned()) } else { None })
        });
        let dns_names = names.into_iter().flatten().collect();
        let server_auth = parsed.extended_key_usage().ok()?.is_some_and(|usage| usage.value.server_auth);
        let validity = validity(&parsed)?;
        Some(Self { validity, dns_names, server_auth, der })
    }

    /// Returns true if it is a server certificate for `host`.
    #[must_use]
    pub fn matches_host(&self, host: &str) -> bool {
        self.server_auth && self.dns_names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

/// Returns the certificates of `cas` in the stored form.
pub(super) fn bundle<'a>(cas: impl IntoIterator<Item = &'a CertificateAuthority>) -> String {
    cas.into_iter().map(|ca| ca.pem.as_str()).collect()
}

/// Returns the keys of `cas` in the stored form.
pub(super) fn keys<'a>(cas: impl IntoIterator<Item = &'a CertificateAuthority>) -> String {
    cas.into_iter().filter_map(|ca| ca.key.as_ref()).map(PrivateKey::pem).collect()
}

fn is_own_name(name: &str) -> bool {
    name.starts_with(COMMON_NAME_PREFIX)
}

fn public_key(der: &CertificateDer<'_>) -> Option<Vec<u8>> {
    X509Certificate::from_der(der).ok().map(|(_, parsed)| parsed.public_key().raw.to_vec())
}

pub(super) fn validity(parsed: &X509Certificate<'_>) -> Option<Validity> {
    let second = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    let validity = parsed.validity();
    Some(Validity { not_before: second(validity.not_before)?, not_after: second(validity.not_after)? })
}
