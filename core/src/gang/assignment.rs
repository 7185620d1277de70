//! Fabric profile and revision that a pod's annotations record.

use crate::config::profile::ProfileName;
use crate::pod::Pod;
use crate::rule::applied_text;
use crate::{hash, keys};

/// Fabric profile and revision that were applied to a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Assignment {
    /// Name of the profile.
    pub profile: String,
    /// Revision of the profile.
    pub revision: String,
}

/// An active pod with an assignment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssignedPod {
    /// Creation time in seconds since the Unix epoch.
    pub created: i64,
    /// The pod's assignment.
    pub assignment: Assignment,
}

impl Assignment {
    /// Reads the assignment from the annotations of `pod`. Returns `None` if the values cannot come from the
    /// webhook, because users can set annotations, too.
    #[must_use]
    pub fn from_pod(pod: Pod<'_>) -> Option<Self> {
        let profile = applied_text(pod)?.split(',').find_map(|rule| rule.trim().strip_prefix("fabric="))?;
        Self::new(profile, pod.annotation(keys::FABRIC_REVISION)?)
    }

    /// Creates an assignment if `profile` is a valid profile name and `revision` a valid hash.
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
    #[case::fabric(Some("mesh.hold,fabric=ib-shared,gang=native"), Some("0123456789ab"), Some("ib-shared"))]
    #[case::no_fabric(Some("mesh.hold"), Some("0123456789ab"), None)]
    #[case::no_revision(Some("fabric=ib-shared"), None, None)]
    #[case::no_applied(None, Some("0123456789ab"), None)]
    #[case::short_revision(Some("fabric=ib-shared"), Some("0123456789a"), None)]
    #[case::long_revision(Some("fabric=ib-shared"), Some("0123456789abc"), None)]
    #[case::upper_case(Some("fabric=ib-shared"), Some("0123456789AB"), None)]
    #[case::control_characters(
        Some("fabric=ib-shared"),
        Some("\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}"),
        None
    )]
    #[case::invalid_profile_name(Some("fabric=IB"), Some("0123456789ab"), None)]
    #[case::none(Some("fabric=none"), Some("0123456789ab"), None)]
    fn reads_the_assignment_from_annotations(
        #[case] applied: Option<&str>,
        #[case] revision: Option<&str>,
        #[case] expected: Option<&str>,
    ) {
        let pod = json!({"metadata": {"annotations": {
            "trainmesh.dev/applied": applied, "trainmesh.dev/fabric-revision": revision,
        }}});
        assert_eq!(Assignment::from_pod(Pod::new(&pod)).map(|assignment| assignment.profile).as_deref(), expected);
    }
}
