//! Which fabric a pod was given, as its annotations show it.

use crate::config::profile::ProfileName;
use crate::pod::Pod;
use crate::{hash, keys};

/// Bytes of the annotation that lists the rules that changed a pod: it takes a few names.
const LONGEST_APPLIED: usize = 4 * 1024;

/// The fabric that a pod was given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Assignment {
    /// The name of the profile.
    pub profile: String,
    /// Its revision.
    pub revision: String,
}

/// A living pod that was given a fabric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssignedPod {
    /// When it was created, in seconds.
    pub created: i64,
    /// What it was given.
    pub assignment: Assignment,
}

impl Assignment {
    /// What `pod` was given: what its annotation says that the rules applied, and the revision. `None` where the webhook
    /// writes no such values: whoever creates a pod writes its annotations.
    #[must_use]
    pub fn of(pod: Pod<'_>) -> Option<Self> {
        let applied = pod.annotation(keys::APPLIED).filter(|applied| applied.len() <= LONGEST_APPLIED)?;
        let profile = applied.split(',').find_map(|rule| rule.trim().strip_prefix("fabric="))?;
        Self::new(profile, pod.annotation(keys::FABRIC_REVISION)?)
    }

    /// `profile` and `revision`, where they are the name of a profile and a hash.
    pub(super) fn new(profile: &str, revision: &str) -> Option<Self> {
        let valid = ProfileName::parse(profile).is_some() && hash::is_hash(revision);
        valid.then(|| Self { profile: profile.to_owned(), revision: revision.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::given(Some("mesh.hold,fabric=ib-shared,gang=native"), Some("0123456789ab"), Some("ib-shared"))]
    #[case::no_fabric(Some("mesh.hold"), Some("0123456789ab"), None)]
    #[case::no_revision(Some("fabric=ib-shared"), None, None)]
    #[case::no_mark(None, Some("0123456789ab"), None)]
    #[case::short_revision(Some("fabric=ib-shared"), Some("0123456789a"), None)]
    #[case::long_revision(Some("fabric=ib-shared"), Some("0123456789abc"), None)]
    #[case::upper_case(Some("fabric=ib-shared"), Some("0123456789AB"), None)]
    #[case::control_characters(
        Some("fabric=ib-shared"),
        Some("\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}"),
        None
    )]
    #[case::no_profile_name(Some("fabric=IB"), Some("0123456789ab"), None)]
    #[case::no_profile(Some("fabric=none"), Some("0123456789ab"), None)]
    fn marks(#[case] applied: Option<&str>, #[case] revision: Option<&str>, #[case] expected: Option<&str>) {
        let pod = json!({"metadata": {"annotations": {
            "trainmesh.dev/applied": applied, "trainmesh.dev/fabric-revision": revision,
        }}});
        assert_eq!(Assignment::of(Pod::new(&pod)).map(|assignment| assignment.profile).as_deref(), expected);
    }
}
