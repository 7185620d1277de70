//! Names, and what stands for those that only a cluster can know.
//!
//! Uids, hashes and random suffixes are shown as zeros. A digit 0 appears in no hash and in no suffix that Kubernetes
//! makes, so zeros are never mistaken for real ones.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

/// Stands for the uid of an object that is not in a cluster.
pub(in crate::workload) const ZERO_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Stands for a hash over a template; Kubernetes makes up to ten characters of it.
pub(in crate::workload) const ZERO_HASH: &str = "0000000000";
/// Stands for the random end of a generated name.
pub(in crate::workload) const ZERO_SUFFIX: &str = "00000";

/// SHA-1 of `namespace/name` in hexadecimal: the label by which operators group pods for affinity.
pub(in crate::workload) fn name_key(namespace: &str, name: &str) -> String {
    let mut key = String::new();
    for byte in Sha1::digest(format!("{namespace}/{name}")) {
        // Writing to a String cannot fail.
        let _ = write!(key, "{byte:02x}");
    }
    key
}

/// The first `length` bytes of a name. Names are ASCII; in a text that is not, a character that would be cut in two
/// is left out.
pub(in crate::workload) fn truncate(name: &str, length: usize) -> &str {
    &name[..name.floor_char_boundary(length)]
}
