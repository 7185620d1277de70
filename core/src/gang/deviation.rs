//! Pods whose fabric assignment deviates from that of their gang. Such gangs hang, or run at the speed of the slowest
//! pod.

use super::Assignment;

/// An active pod of a gang, with the properties that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangMember {
    /// Name of the pod.
    pub name: String,
    /// UID of the pod.
    pub uid: String,
    /// Role in the job, as the operator calls it.
    pub role: Option<String>,
    /// Creation time in seconds since the Unix epoch.
    pub created: i64,
    /// Assignment, if the pod has a fabric.
    pub assignment: Option<Assignment>,
    /// True if the pod itself opts out of fabrics.
    pub opted_out: bool,
}

/// A pod that deviates from its gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation<'a> {
    /// The pod.
    pub member: &'a GangMember,
    /// Assignment of the gang.
    pub expected: &'a Assignment,
}

/// Returns the members of one gang that deviate from it. The most frequent assignment counts as that of the gang; the
/// oldest pod breaks ties. A pod without a fabric deviates only if other pods of its role have
/// one, because launchers need none.
#[must_use]
pub fn deviations(members: &[GangMember]) -> Vec<Deviation<'_>> {
    let assigned =
        || members.iter().filter_map(|member| member.assignment.as_ref().map(|assignment| (member, assignment)));
    // More pods first, then the older pod.
    let weight = |candidate: &Assignment| {
        let creation_times =
            || assigned().filter(|(_, assignment)| *assignment == candidate).map(|(member, _)| member.created);
        (creation_times().count(), creation_times().min().map(std::cmp::Reverse))
    };
    let Some(expected) = assigned().map(|(_, assignment)| assignment).max_by_key(|assignment| weight(assignment))
    else {
        return Vec::new();
    };
    let has_fabric = |role: &Option<String>| assigned().any(|(member, _)| member.role == *role);
    let deviates = |member: &&GangMember| match &member.assignment {
        Some(assignment) => assignment != expected,
        None => !member.opted_out && has_fabric(&member.role),
    };
    members.iter().filter(deviates).map(|member| Deviation { member, expected }).collect()
}

impl Deviation<'_> {
    /// Returns the message for the event: the problem and its fix.
    #[must_use]
    pub fn message(&self) -> String {
        let Assignment { profile, revision } = self.expected;
        let expected = format!("other pods of its job have fabric {profile} at revision {revision}");
        match &self.member.assignment {
            Some(own) => {
                format!("fabric {} at revision {}, but {expected}: restart the job", own.profile, own.revision)
            }
            None => format!("no fabric, but {expected}; the webhook may have missed the pod: restart it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Takes role and revision of pods in the order of their creation. `none` stands for no fabric, `out` for opted
    /// out.
    #[rstest]
    #[case::equal(&[("w", "1"), ("w", "1")], &[])]
    #[case::no_fabric(&[("w", "none"), ("w", "none")], &[])]
    #[case::majority(&[("w", "2"), ("w", "1"), ("w", "1")], &[0])]
    #[case::oldest_of_equals(&[("w", "2"), ("w", "1")], &[1])]
    #[case::missed(&[("w", "1"), ("w", "none")], &[1])]
    #[case::another_role(&[("w", "1"), ("launcher", "none")], &[])]
    #[case::opted_out(&[("w", "1"), ("w", "out")], &[])]
    #[case::both(&[("w", "1"), ("w", "1"), ("m", "2"), ("w", "none")], &[2, 3])]
    fn finds_deviating_pods(#[case] pods: &[(&str, &str)], #[case] expected: &[i64]) {
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
        let found: Vec<i64> = deviations(&members).iter().map(|deviation| deviation.member.created).collect();
        assert_eq!(found, expected);
    }
}
