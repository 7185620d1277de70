//! A Secret, and the keys of those that hold certificates.

use std::collections::BTreeMap;
use std::fmt;

/// Key of a Secret: certificates of authorities, the newest first.
pub const CA_CRT: &str = "ca.crt";
/// Key of a Secret: the keys of those authorities that may sign.
pub const CA_KEY: &str = "ca.key";
/// Key of a Secret: the serving certificate.
pub const TLS_CRT: &str = "tls.crt";
/// Key of a Secret: the key of the serving certificate.
pub const TLS_KEY: &str = "tls.key";

/// A Secret as it was at some version. None of its data can be printed by mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The version.
    pub resource_version: String,
    data: BTreeMap<String, Vec<u8>>,
}

impl Secret {
    /// A Secret with this data.
    #[must_use]
    pub fn new(resource_version: impl Into<String>, data: BTreeMap<String, Vec<u8>>) -> Self {
        Self { resource_version: resource_version.into(), data }
    }

    /// The value of `key`; empty where there is no such key.
    #[must_use]
    pub fn get(&self, key: &str) -> &[u8] {
        self.data.get(key).map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource_version, data } = self;
        let keys: Vec<&String> = data.keys().collect();
        formatter
            .debug_struct("Secret")
            .field("resource_version", resource_version)
            .field("keys", &keys)
            .finish_non_exhaustive()
    }
}
