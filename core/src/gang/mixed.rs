//! Gangs whose pods were not set up alike: they hang, or one slow member holds up all the others.

use super::Assignment;

/// A living pod of a gang, as far as it is compared with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangMember {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its role, in the words of its operator.
    pub role: Option<String>,
    /// When it was created, in seconds.
    pub created: i64,
    /// What it was given.
    pub assignment: Option<Assignment>,
    /// It says itself that it wants none.
    pub opted_out: bool,
}

/// A pod that is not like its gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviating<'a> {
    /// The pod.
    pub member: &'a GangMember,
    /// What most of the others carry.
    pub others: &'a Assignment,
}

/// The pods among `members`, one gang, that are not like the others: most decide, or else the oldest. A pod without a
/// fabric deviates only where siblings of its role have one: a launcher needs none.
#[must_use]
pub fn deviating(members: &[GangMember]) -> Vec<Deviating<'_>> {
    let assigned =
        || members.iter().filter_map(|member| member.assignment.as_ref().map(|assignment| (member, assignment)));
    let weight = |wanted: &Assignment| {
        let alike = || assigned().filter(|(_, assignment)| *assignment == wanted).map(|(member, _)| member.created);
        (alike().count(), alike().min().map(std::cmp::Reverse))
    };
    let Some(others) = assigned().map(|(_, assignment)| assignment).max_by_key(|assignment| weight(assignment)) else {
        return Vec::new();
    };
    let has_fabric = |role: &Option<String>| assigned().any(|(member, _)| member.role == *role);
    let deviates = |member: &&GangMember| match &member.assignment {
        Some(assignment) => assignment != others,
        None => !member.opted_out && has_fabric(&member.role),
    };
    members.iter().filter(deviates).map(|member| Deviating { member, others }).collect()
}

impl Deviating<'_> {
    /// What is told of it.
    #[must_use]
    pub fn note(&self) -> String {
        let Assignment { profile, revision } = self.others;
        let others = format!("other pods of its job have fabric {profile} of revision {revision}");
        match &self.member.assignment {
            Some(own) => {
                format!("fabric {} of revision {}, but {others}: restart the job", own.profile, own.revision)
            }
            None => format!("no fabric, but {others}: did the webhook miss it? restart the pod"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Pods in the order of their creation: role, and revision; `none` is none, `out` none wanted.
    #[rstest]
    #[case::alike(&[("w", "1"), ("w", "1")], &[])]
    #[case::no_fabric(&[("w", "none"), ("w", "none")], &[])]
    #[case::most_decide(&[("w", "2"), ("w", "1"), ("w", "1")], &[0])]
    #[case::else_the_oldest(&[("w", "2"), ("w", "1")], &[1])]
    #[case::missed(&[("w", "1"), ("w", "none")], &[1])]
    #[case::another_role(&[("w", "1"), ("launcher", "none")], &[])]
    #[case::opted_out(&[("w", "1"), ("w", "out")], &[])]
    #[case::both(&[("w", "1"), ("w", "1"), ("m", "2"), ("w", "none")], &[2, 3])]
    fn who_deviates(#[case] pods: &[(&str, &str)], #[case] expected: &[i64]) {
        let member = |((role, revision), created): (&(&str, &str), i64)| GangMember {
            name: String::new(),
            uid: String::new(),
            role: Some((*role).to_owned()),
            created,
            assignment: (!["none", "out"].contains(revision))
                .then(|| Assignment { profile: "ib".to_owned(), revision: (*revision).to_owned() }),
            opted_out: *revision == "out",
        };
        let members: Vec<GangMember> = pods.iter().zip(0..).map(member).collect();
        let found: Vec<i64> = deviating(&members).iter().map(|found| found.member.created).collect();
        assert_eq!(found, expected);
    }
}
