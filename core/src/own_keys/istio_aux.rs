//! The label of datastrophic/istio-aux, by which a namespace opts in.

use super::Location::{self, NamespaceLabel};
use super::{correction, excerpt, shown};
use crate::hint::nearest;
use crate::{keys, scope};

/// Returns the reason why the entry `key`=`value` at `location` has no effect, and the fix.
pub(super) fn problem(location: Location, key: &str, value: &str) -> Option<String> {
    if key != keys::ISTIO_AUX {
        let near = nearest(key, &[keys::ISTIO_AUX]).filter(|_| key.contains('/'))?;
        let fix = if location == NamespaceLabel { "" } else { ", a namespace label" };
        return Some(format!("{} has no effect: did you mean {near}{fix}?", excerpt(key)));
    }
    if location != NamespaceLabel {
        return Some(format!("{key} has no effect here: it is a namespace label"));
    }
    // `disabled` is redundant, but its intent is clear.
    let is_valid = [scope::ENABLED, scope::DISABLED].contains(&value);
    (!is_valid)
        .then(|| format!("{key}={} has no effect: {}", shown(excerpt(value)), correction(value, &[scope::ENABLED])))
}
