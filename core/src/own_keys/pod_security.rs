//! The label of a namespace with its Pod Security level, on which guards of fabric profiles depend.

use super::Location::{self, NamespaceLabel};
use super::{correction, excerpt, shown};
use crate::keys;

/// Pod Security levels, from the least strict.
pub(crate) const LEVELS: [&str; 3] = ["privileged", "baseline", "restricted"];

/// Returns why the level in the entry `key`=`value` at `location` is unknown, and the fix.
pub(super) fn problem(location: Location, key: &str, value: &str) -> Option<String> {
    if location != NamespaceLabel || key != keys::POD_SECURITY || LEVELS.contains(&value) {
        return None;
    }
    // The apiserver rejects the label; a namespace that has it nevertheless is restricted.
    Some(format!("{key}={}: unknown level: {}", shown(excerpt(value)), correction(value, &LEVELS)))
}
