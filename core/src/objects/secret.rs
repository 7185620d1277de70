//! A Secret, and the keys of Secrets that contain certificates.

use std::collections::BTreeMap;
use std::fmt;

/// Secret key of the CA certificates, newest first.
pub const CA_CRT: &str = "ca.crt";
/// Secret key of the private keys of the CAs that may sign.
pub const CA_KEY: &str = "ca.key";
/// Secret key of the serving certificate.
pub const TLS_CRT: &str = "tls.crt";
/// Secret key of the private key of the serving certificate.
pub const TLS_KEY: &str = "tls.key";

/// A version of a Secret. Its `Debug` output contains no data.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Resource version.
    pub resource_version: String,
    data: BTreeMap<String, Vec<u8>>,
}

impl Secret {
    /// Creates a Secret with this data.
    #[must_use]
    pub fn new(resource_version: impl Into<String>, data: BTreeMap<String, Vec<u8>>) -> Self {
        Self { resource_version: resource_version.into(), data }
    }

    /// Returns the value of `key`; empty if the key is missing.
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
