//! Private keys.

use std::fmt;

use rcgen::KeyPair;

/// A private key as PEM. Its `Debug` output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(String);

impl PrivateKey {
    pub(super) fn new(pem: impl Into<String>) -> Self {
        Self(pem.into())
    }

    /// Returns the PEM text.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.0
    }

    /// Parses the key; `None` if the text is not a valid key.
    pub(super) fn to_key_pair(&self) -> Option<KeyPair> {
        KeyPair::from_pem(&self.0).ok()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PrivateKey(…)")
    }
}
