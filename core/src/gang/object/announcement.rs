//! The announcement of the leading controller to the webhook: the `PodGroups` that it creates, the schedulers that have shown
//! that they run, and the namespaces in which the apiserver denies `PodGroups`.

use std::collections::BTreeSet;

use super::GroupApi;
use crate::gang::GangMode;

/// Maximum length of the APIs and modes in bytes, also in version 0.1. All of them and a long holder take less.
const MAX_LENGTH: usize = 1024;
/// Maximum length of the denied namespaces in bytes. [`Announcement::MAX_DENIED`] and a long holder take less.
const MAX_DENIED_LENGTH: usize = 8 * 1024;
/// Separates the holder of the Lease, and the APIs and modes or the namespaces.
const SEPARATOR: char = ' ';

/// Annotation of the Lease that contains the APIs and modes.
pub const GANG_APIS: &str = "trainmesh.dev/gang-apis";
/// Annotation of the Lease that contains the denied namespaces. Version 0.1 does not read it.
pub const GANG_DENIED: &str = "trainmesh.dev/gang-denied";

/// Announcement of the leading controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// APIs of the objects that it creates.
    pub apis: BTreeSet<GroupApi>,
    /// Modes whose scheduler has written the status of an object in the last 24 hours.
    pub alive: BTreeSet<GangMode>,
    /// Modes whose objects the apiserver denies in a namespace: at most [`Self::MAX_DENIED`].
    pub denied: BTreeSet<(GangMode, String)>,
}

impl Announcement {
    /// Maximum number of [`Self::denied`].
    pub const MAX_DENIED: usize = 64;

    /// Returns the texts of [`GANG_APIS`] and, if there are any, of [`GANG_DENIED`] for the Lease that `holder` holds. They
    /// contain the holder, because another version of the controller keeps them when it takes the Lease.
    #[must_use]
    pub fn to_texts(&self, holder: &str) -> (String, Option<String>) {
        let apis: Vec<String> = self.apis.iter().map(|api| api.api_version()).collect();
        let alive: Vec<&str> = self.alive.iter().map(|mode| mode.name()).collect();
        let denied: Vec<String> = self.denied.iter().map(|(mode, namespace)| format!("{mode}/{namespace}")).collect();
        let text = format!("{holder}{SEPARATOR}{}{SEPARATOR}{}", apis.join(","), alive.join(","));
        (text, (!denied.is_empty()).then(|| format!("{holder}{SEPARATOR}{}", denied.join(","))))
    }

    /// Reads the texts on the Lease that `holder` holds; empty if another process wrote them. Unknown names are ignored.
    #[must_use]
    pub fn parse(apis: &str, denied: &str, holder: &str) -> Self {
        let mut parts = parts(apis, holder, MAX_LENGTH);
        let (apis, alive) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let denied = self::parts(denied, holder, MAX_DENIED_LENGTH).next().unwrap_or_default();
        let find = |name: &str| GroupApi::ALL.into_iter().find(|api| api.api_version() == name);
        Self {
            apis: apis.split(',').filter_map(find).collect(),
            alive: alive.split(',').filter_map(GangMode::parse).collect(),
            denied: denied.split(',').filter_map(denial).collect(),
        }
    }
}

/// Returns the parts of `text` after its holder; none if another process wrote it, or it is too long.
fn parts<'a>(text: &'a str, holder: &str, max_length: usize) -> impl Iterator<Item = &'a str> {
    let mut parts = text.split(SEPARATOR);
    let is_valid = text.len() <= max_length && parts.next() == Some(holder);
    parts.filter(move |_| is_valid)
}

/// Reads a mode and a namespace.
fn denial(text: &str) -> Option<(GangMode, String)> {
    let (mode, namespace) = text.split_once('/')?;
    Some((GangMode::parse(mode)?, namespace.to_owned()))
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
            denied: BTreeSet::new(),
        };
        let (text, denied) = announcement.to_texts("a_1");
        assert_eq!(text, "a_1 scheduling.k8s.io/v1alpha2,scheduling.volcano.sh/v1beta1 volcano");
        assert_eq!(denied, None);
        let read = Announcement::parse(&text, "a_1 volcano/team-a", holder);
        let denied = [(GangMode::Volcano, "team-a".to_owned())].into();
        let announcement = Announcement { denied, ..announcement };
        assert_eq!(read, if expected { announcement } else { Announcement::default() });
    }

    #[test]
    fn denied_namespaces_are_announced() {
        let namespaces = (0..Announcement::MAX_DENIED).map(|index| format!("{index:0>63}"));
        let announcement = Announcement {
            apis: GroupApi::ALL.into(),
            alive: GangMode::WITH_OBJECTS.into(),
            denied: namespaces.map(|namespace| (GangMode::Coscheduling, namespace)).collect(),
        };
        let holder = "h".repeat(300);
        let (apis, denied) = announcement.to_texts(&holder);
        assert!(apis.len() <= 1024, "the limit of version 0.1");
        assert_eq!(Announcement::parse(&apis, &denied.unwrap(), &holder), announcement);

        let parsed = Announcement::parse("a  volcano", "a native/team-a,future/team-b,team-c", "a");
        assert_eq!(parsed.denied, BTreeSet::from([(GangMode::Native, "team-a".to_owned())]));
    }

    #[rstest]
    #[case::empty("")]
    #[case::only_the_holder("a")]
    #[case::nothing("a  ")]
    #[case::unknown("a scheduling.k8s.io/v2,x future")]
    #[case::long(&format!("a {}", "scheduling.k8s.io/v1alpha2,".repeat(999)))]
    fn other_text_announces_nothing(#[case] text: &str) {
        assert_eq!(Announcement::parse(text, "", "a"), Announcement::default());
    }
}
