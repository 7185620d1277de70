//! Private keys.

use std::fmt;

use rcgen::KeyPair;

/// A private key as PEM. It cannot be printed by mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(String);

impl PrivateKey {
    pub(super) fn new(pem: impl Into<String>) -> Self {
        Self(pem.into())
    }

    /// The key itself, for where it is to be stored.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.0
    }

    /// What signs with it; `None` where the text is no key.
    pub(super) fn pair(&self) -> Option<KeyPair> {
        KeyPair::from_pem(&self.0).ok()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PrivateKey(…)")
    }
}
