//! Names, and placeholders for those that exist only in a cluster.
//!
//! UIDs, hashes and random suffixes are shown as zeros. Kubernetes never uses the digit 0 in hashes and suffixes, so
//! zeros cannot be mistaken for real values.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

/// Placeholder for the UID of an object that is not in a cluster.
pub(in crate::workload) const ZERO_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Placeholder for a template hash, which has up to ten characters.
pub(in crate::workload) const ZERO_HASH: &str = "0000000000";
/// Placeholder for the random suffix of a generated name.
pub(in crate::workload) const ZERO_SUFFIX: &str = "00000";

/// Returns the hexadecimal SHA-1 of `namespace/name`, which operators use as a label value for affinity.
pub(in crate::workload) fn name_hash(namespace: &str, name: &str) -> String {
    let mut key = String::new();
    for byte in Sha1::digest(format!("{namespace}/{name}")) {
        // Writing to a String cannot fail.
        let _ = write!(key, "{byte:02x}");
    }
    key
}

/// Returns the first `length` bytes of a name. Names are ASCII; a multi-byte character at the boundary is dropped.
pub(in crate::workload) fn truncate(name: &str, length: usize) -> &str {
    &name[..name.floor_char_boundary(length)]
}
