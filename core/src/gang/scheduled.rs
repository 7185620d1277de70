//! Gang mode with which a pod was created.

use super::workload::role_name;
use super::{GangMode, gang_member};
use crate::pod::Pod;
use crate::rule::applied_text;
use crate::workload::PodIdentity;
use crate::{keys, labels};

/// Prefix of the rule in the `applied` annotation.
const RULE: &str = "gang=";

/// An active pod of a job, and the gang mode with which it was created.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScheduledPod {
    /// Creation time in seconds since the Unix epoch.
    pub created: i64,
    /// Number of restarts in which the operator recreated all pods.
    pub attempt: u64,
    /// Role in the job.
    pub role: Box<str>,
    /// Mode of the keys that the webhook wrote; `None` if it wrote none.
    pub mode: Option<GangMode>,
}

impl ScheduledPod {
    /// Reads `pod`, which was created at this time. Returns `None` if it does not belong to a gang, or if it selects its
    /// mode itself: this decides nothing about other pods.
    #[must_use]
    pub fn from_pod(pod: Pod<'_>, created: i64) -> Option<Self> {
        if pod.label(keys::GANG).is_some() {
            return None;
        }
        let member = gang_member(pod)?;
        // Users can set labels, too.
        let role = Some(role_name(member)).filter(|role| labels::is_value(role))?;
        Some(Self { created, attempt: attempt(pod, member)?, role: role.into(), mode: applied_mode(pod) })
    }
}

/// Returns the restart attempt of `pod`, a pod of this workload; `None` if it is unknown.
pub(super) fn attempt(pod: Pod<'_>, member: PodIdentity<'_>) -> Option<u64> {
    let kind = member.kind.gang.object.unwrap_or(member.kind);
    (kind.gang.position)(pod).map(|(attempt, _)| attempt)
}

/// Returns the name of the mode in the annotation of `pod` with the applied rules. A copied template contains it, too.
#[must_use]
pub fn applied_gang(pod: Pod<'_>) -> Option<&str> {
    applied_text(pod)?.split(',').find_map(|rule| rule.trim().strip_prefix(RULE))
}

/// Returns the mode of the keys that the webhook wrote, according to the annotation of `pod`. A copied template contains the
/// annotation, too, but not the keys.
#[must_use]
pub fn applied_mode(pod: Pod<'_>) -> Option<GangMode> {
    let mode = GangMode::parse(applied_gang(pod)?)?;
    let has_keys = match mode.scheduler_name() {
        Some(name) => super::key::scheduler_name(pod) == Some(name),
        None => mode.gang_named_by(pod).is_some(),
    };
    has_keys.then_some(mode)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a worker of a `JobSet` in its third attempt, with these `labels`, this rule and `spec`.
    fn pod(labels: &Value, applied: &str, spec: &Value) -> Value {
        let mut pod = json!({
            "metadata": {
                "labels": {
                    "jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "s1",
                    "jobset.sigs.k8s.io/replicatedjob-name": "worker", "jobset.sigs.k8s.io/restart-attempt": "2",
                },
                "annotations": {"trainmesh.dev/applied": applied},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "a-worker-0", "uid": "j1", "controller": true}],
            },
            "spec": spec,
        });
        json_patch::merge(&mut pod, &json!({"metadata": {"labels": labels}}));
        pod
    }

    #[rstest]
    #[case::native("mesh.hold,gang=native", json!({"schedulingGroup": {"podGroupName": "g"}}), Some(GangMode::Native))]
    #[case::scheduler("gang=kai", json!({"schedulerName": "kai-scheduler"}), Some(GangMode::Kai))]
    #[case::no_gang("mesh.hold", json!({"schedulerName": "volcano"}), None)]
    #[case::copied_native("gang=native", json!({}), None)]
    #[case::copied_scheduler("gang=volcano", json!({"schedulerName": "default-scheduler"}), None)]
    #[case::unknown("gang=future", json!({"schedulerName": "future"}), None)]
    #[case::auto("gang=auto", json!({}), None)]
    #[case::long(&format!("gang=kai,{}", "x".repeat(5_000)), json!({"schedulerName": "kai-scheduler"}), None)]
    fn reads_the_mode_of_a_pod(#[case] applied: &str, #[case] spec: Value, #[case] mode: Option<GangMode>) {
        let found = ScheduledPod::from_pod(Pod::new(&pod(&json!({}), applied, &spec)), 7);
        assert_eq!(found, Some(ScheduledPod { created: 7, attempt: 2, role: "worker".into(), mode }));
    }

    #[rstest]
    #[case::own_label(json!({"trainmesh.dev/gang": "none"}))]
    #[case::invalid_role(json!({"jobset.sigs.k8s.io/replicatedjob-name": "\u{1}"}))]
    #[case::long_role(json!({"jobset.sigs.k8s.io/replicatedjob-name": "r".repeat(64)}))]
    #[case::no_gang(json!({"jobset.sigs.k8s.io/jobset-name": null}))]
    fn some_pods_decide_nothing_about_others(#[case] labels: Value) {
        let pod = pod(&labels, "gang=kai", &json!({"schedulerName": "kai-scheduler"}));
        assert_eq!(ScheduledPod::from_pod(Pod::new(&pod), 7), None);
    }
}
