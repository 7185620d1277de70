//! The order in which the roles of a workload run.

use std::collections::{BTreeMap, BTreeSet};

/// Which roles of a workload complete before others start.
#[derive(Clone, Debug, Default)]
pub(super) struct RunOrder<'a> {
    before: BTreeMap<&'a str, Vec<&'a str>>,
    after: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> RunOrder<'a> {
    /// Reads the order from roles, each with the names of those that complete before it starts.
    pub(super) fn new(roles: impl Iterator<Item = (&'a str, &'a [String])>) -> Self {
        let mut order = Self::default();
        for (role, follows) in roles {
            for other in follows {
                order.before.entry(role).or_default().push(other);
                order.after.entry(other).or_default().push(role);
            }
        }
        order
    }

    /// Returns the roles that never run at the same time as `role`.
    pub(super) fn apart_from(&self, role: &'a str) -> BTreeSet<&'a str> {
        let mut found = reachable(role, &self.before);
        found.append(&mut reachable(role, &self.after));
        found
    }
}

/// Returns the roles that are reached from `start` by `links`.
fn reachable<'a>(start: &'a str, links: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let (mut found, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(role) = next.pop() {
        let linked = links.get(role).into_iter().flatten();
        next.extend(linked.filter(|other| found.insert(**other)));
    }
    found
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::first("prepare", &["check", "eval", "train"])]
    #[case::middle("train", &["check", "prepare"])]
    #[case::sibling("eval", &["prepare"])]
    #[case::alone("log", &[])]
    fn roles_that_complete_before_others_are_apart(#[case] role: &str, #[case] expected: &[&str]) {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let roles = [
            ("prepare", names(&[])),
            ("train", names(&["prepare"])),
            ("eval", names(&["prepare"])),
            ("check", names(&["train", "absent"])),
            ("log", names(&[])),
        ];
        let order = RunOrder::new(roles.iter().map(|(name, follows)| (*name, follows.as_slice())));
        assert_eq!(order.apart_from(role).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_cycle_ends() {
        let follows = ["a".to_owned(), "b".to_owned()];
        let order = RunOrder::new([("a", follows.as_slice()), ("b", follows.as_slice())].into_iter());
        assert_eq!(order.apart_from("a"), BTreeSet::from(["a", "b"]));
    }
}
