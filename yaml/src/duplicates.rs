//! Keys that occur several times in a mapping.

use super::error::Error;

/// Treatment of a key that occurs several times in a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// The document is invalid.
    Reject,
    /// The last value is kept, as by kubectl.
    LastWins,
}

/// A key that replaces an earlier one in the same mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// Key.
    pub key: String,
    /// Lines of the replaced key and of this one, counted from 1; `None` if unknown.
    pub lines: Option<[u64; 2]>,
}

/// The duplicate keys of a document that is being read.
#[derive(Debug)]
pub(super) struct Duplicates {
    treatment: DuplicateKeys,
    found: Vec<DuplicateKey>,
}

/// Maximum number of duplicate keys that are reported for a document. More only repeat the same mistake.
pub const MAX_DUPLICATES: usize = 20;

impl DuplicateKey {
    /// Creates one from the line of the replaced key, if it is known, and the line of this key.
    fn new(key: String, replaced: Option<u64>, line: usize) -> Self {
        Self { key, lines: replaced.map(|replaced| [replaced, line as u64]) }
    }
}

impl Duplicates {
    pub(super) fn new(treatment: DuplicateKeys) -> Self {
        Self { treatment, found: Vec::new() }
    }

    /// Adds `key` on `line`, which replaces the one on line `replaced`.
    pub(super) fn add(&mut self, key: String, replaced: Option<u64>, line: usize) -> Result<(), Error> {
        if self.treatment == DuplicateKeys::Reject {
            return Err(Error::new(line, format!("duplicate key \"{key}\"")));
        }
        if self.found.len() < MAX_DUPLICATES {
            self.found.push(DuplicateKey::new(key, replaced, line));
        }
        Ok(())
    }

    /// Returns the duplicate keys in the order of the text, [`MAX_DUPLICATES`] at most.
    pub(super) fn into_found(self) -> Vec<DuplicateKey> {
        self.found
    }
}
