//! What PEM texts hold: authorities of ours, a leaf.

use std::fmt;

use jiff::Timestamp;
use rcgen::PublicKeyData as _;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use super::COMMON_NAME;
use super::key::PrivateKey;
use super::pem::{CERTIFICATE, PRIVATE_KEY, sections};
use trainmesh_core::certs::Dates;
use trainmesh_core::certs::step::{self, Id};

/// An authority of ours: a certificate that may sign others and whose name begins with `COMMON_NAME`.
#[derive(Clone)]
pub struct Authority {
    /// Names it.
    pub id: Id,
    /// When it is good.
    pub dates: Dates,
    /// Its certificate, PEM.
    pub pem: String,
    /// Its key, if that was found.
    pub key: Option<PrivateKey>,
    der: CertificateDer<'static>,
}

/// What was found in one place.
#[derive(Clone, Debug, Default)]
pub struct Authorities {
    /// Those of ours, each once.
    pub found: Vec<Authority>,
    /// Whether anything else was found.
    pub foreign: bool,
}

/// A leaf that makes a pair with its key.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// When it is good.
    pub dates: Dates,
    names: Vec<String>,
    serves: bool,
    der: CertificateDer<'static>,
}

impl Authority {
    /// Reads one section of PEM; `None` where that is no authority of ours.
    pub(super) fn read(pem: &str) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let (_, parsed) = X509Certificate::from_der(&der).ok()?;
        let named = parsed.subject().iter_common_name().any(|name| name.as_str().is_ok_and(ours));
        let signs = parsed.is_ca() && parsed.key_usage().ok()?.is_some_and(|usage| usage.value.key_cert_sign());
        if !named || !signs {
            return None;
        }
        let dates = dates(&parsed)?;
        Some(Self { id: Id(Sha256::digest(&der).into()), dates, pem: pem.to_owned(), key: None, der })
    }

    /// What a decision needs of it.
    #[must_use]
    pub fn facts(&self) -> step::Authority {
        step::Authority { id: self.id, dates: self.dates, keyed: self.key.is_some() }
    }

    /// Whether it has signed `leaf`.
    #[must_use]
    pub fn signed(&self, leaf: &Leaf) -> bool {
        let read = |der| X509Certificate::from_der(der).ok().map(|(_, parsed)| parsed);
        read(&self.der).zip(read(&leaf.der)).is_some_and(|(authority, leaf)| {
            leaf.issuer() == authority.subject() && leaf.verify_signature(Some(authority.public_key())).is_ok()
        })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.facts().fmt(formatter)
    }
}

impl Authorities {
    /// Reads certificates, and the keys that belong to them.
    #[must_use]
    pub fn read(certificates: &[u8], keys: &[u8]) -> Self {
        // What is no text is no PEM either.
        let (certificates, keys) = (str::from_utf8(certificates).unwrap_or("?"), str::from_utf8(keys).unwrap_or("?"));
        let mut found: Vec<Authority> = Vec::new();
        for authority in sections(certificates, CERTIFICATE).filter_map(Authority::read) {
            if found.iter().all(|it| it.id != authority.id) {
                found.push(authority);
            }
        }
        for key in sections(keys, PRIVATE_KEY).map(PrivateKey::new) {
            let Some(public) = key.pair().map(|pair| pair.subject_public_key_info()) else { continue };
            if let Some(authority) = found.iter_mut().find(|it| public_key(&it.der).as_deref() == Some(&public)) {
                authority.key = Some(key);
            }
        }
        let foreign = bundle(&found) != certificates || self::keys(&found) != keys;
        Self { found, foreign }
    }

    /// What a decision needs of them.
    #[must_use]
    pub fn facts(&self) -> step::CertificateSet {
        step::CertificateSet { authorities: self.found.iter().map(Authority::facts).collect(), foreign: self.foreign }
    }
}

impl Leaf {
    /// Reads a leaf, the first of `chain`, and its key; `None` where they are broken or do not make a pair.
    #[must_use]
    pub fn read(chain: &[u8], key: &[u8]) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(chain).ok()?;
        let pair = PrivateKey::new(str::from_utf8(key).ok()?).pair()?;
        if public_key(&der)? != pair.subject_public_key_info() {
            return None;
        }
        let (_, parsed) = X509Certificate::from_der(&der).ok()?;
        let names = parsed.subject_alternative_name().ok()?.map(|names| {
            let names = names.value.general_names.iter();
            names.filter_map(|name| if let GeneralName::DNSName(name) = name { Some((*name).to_owned()) } else { None })
        });
        let names = names.into_iter().flatten().collect();
        let serves = parsed.extended_key_usage().ok()?.is_some_and(|usage| usage.value.server_auth);
        let dates = dates(&parsed)?;
        Some(Self { dates, names, serves, der })
    }

    /// Whether a server may show it to those who call it `host`.
    #[must_use]
    pub fn fits(&self, host: &str) -> bool {
        self.serves && self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

/// The certificates of `authorities`, as they are stored.
pub(super) fn bundle<'a>(authorities: impl IntoIterator<Item = &'a Authority>) -> String {
    authorities.into_iter().map(|authority| authority.pem.as_str()).collect()
}

/// The keys of `authorities`, as they are stored.
pub(super) fn keys<'a>(authorities: impl IntoIterator<Item = &'a Authority>) -> String {
    authorities.into_iter().filter_map(|authority| authority.key.as_ref()).map(PrivateKey::pem).collect()
}

fn ours(name: &str) -> bool {
    name.starts_with(COMMON_NAME)
}

fn public_key(der: &CertificateDer<'_>) -> Option<Vec<u8>> {
    X509Certificate::from_der(der).ok().map(|(_, parsed)| parsed.public_key().raw.to_vec())
}

pub(super) fn dates(parsed: &X509Certificate<'_>) -> Option<Dates> {
    let second = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    let validity = parsed.validity();
    Some(Dates { not_before: second(validity.not_before)?, not_after: second(validity.not_after)? })
}
