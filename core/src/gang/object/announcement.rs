//! The announcement of the leading controller to the webhook: the `PodGroups` that it creates, and the schedulers that have
//! shown that they run.

use std::collections::BTreeSet;

use super::GroupApi;
use crate::gang::GangMode;

/// Maximum length of an announcement in bytes; real ones have a third.
const MAX_LENGTH: usize = 1024;
/// Separates the holder of the Lease, the APIs and the modes.
const SEPARATOR: char = ' ';

/// Annotation of the Lease that contains the announcement.
pub const GANG_APIS: &str = "trainmesh.dev/gang-apis";

/// Announcement of the leading controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// APIs of the objects that it creates.
    pub apis: BTreeSet<GroupApi>,
    /// Modes whose scheduler has written the status of an object.
    pub alive: BTreeSet<GangMode>,
}

impl Announcement {
    /// Returns the text for the Lease that `holder` holds. It contains the holder, because another version of the
    /// controller keeps the text when it takes the Lease.
    #[must_use]
    pub fn to_text(&self, holder: &str) -> String {
        let apis: Vec<String> = self.apis.iter().map(|api| api.api_version()).collect();
        let alive: Vec<&str> = self.alive.iter().map(|mode| mode.name()).collect();
        format!("{holder}{SEPARATOR}{}{SEPARATOR}{}", apis.join(","), alive.join(","))
    }

    /// Reads the text on the Lease that `holder` holds; empty if another process wrote it. Unknown names are ignored.
    #[must_use]
    pub fn parse(text: &str, holder: &str) -> Self {
        let mut parts = text.split(SEPARATOR);
        if text.len() > MAX_LENGTH || parts.next() != Some(holder) {
            return Self::default();
        }
        let (apis, alive) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let find = |name: &str| GroupApi::ALL.into_iter().find(|api| api.api_version() == name);
        Self {
            apis: apis.split(',').filter_map(find).collect(),
            alive: alive.split(',').filter_map(GangMode::parse).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own("a_1", true)]
    #[case::of_another_process("b_2", false)]
    fn only_the_holder_counts(#[case] holder: &str, #[case] expected: bool) {
        let announcement = Announcement {
            apis: [GroupApi::NativeV1Alpha2, GroupApi::Volcano].into(),
            alive: [GangMode::Volcano].into(),
        };
        let text = announcement.to_text("a_1");
        assert_eq!(text, "a_1 scheduling.k8s.io/v1alpha2,scheduling.volcano.sh/v1beta1 volcano");
        let read = Announcement::parse(&text, holder);
        assert_eq!(read, if expected { announcement } else { Announcement::default() });
    }

    #[rstest]
    #[case::empty("")]
    #[case::only_the_holder("a")]
    #[case::nothing("a  ")]
    #[case::unknown("a scheduling.k8s.io/v2,x future")]
    #[case::long(&format!("a {}", "scheduling.k8s.io/v1alpha2,".repeat(99)))]
    fn other_text_announces_nothing(#[case] text: &str) {
        assert_eq!(Announcement::parse(text, "a"), Announcement::default());
    }
}
