//! What the list of kinds shows about a manifest or a pod, read from the labels and the owner of a pod alone.

use super::kinds::{
    deployment, job, jobset, leaderworkerset, raycluster, rayjob, statefulset, training_operator, trainjob, volcano,
};
use super::{KINDS, Kind, Member};
use crate::pod::Pod;

/// The labels that [`identify`] and [`GangTraits::id`](super::GangTraits::id) read.
pub const LABELS: [&str; 29] = [
    deployment::TEMPLATE_HASH,
    job::COMPLETION_INDEX,
    job::JOB_NAME,
    jobset::NAME,
    jobset::UID,
    jobset::ROLE,
    jobset::JOBS_OF_ROLE,
    leaderworkerset::NAME,
    leaderworkerset::GROUP_INDEX,
    leaderworkerset::WORKER_INDEX,
    raycluster::IS_RAY_NODE,
    raycluster::CLUSTER,
    raycluster::NODE_TYPE,
    raycluster::GROUP,
    raycluster::SERVE,
    raycluster::REPLICA_INDEX,
    raycluster::HOST_INDEX,
    rayjob::ORIGIN,
    rayjob::ORIGIN_KIND,
    statefulset::POD_INDEX,
    training_operator::OPERATOR_NAME,
    training_operator::JOB_NAME,
    training_operator::REPLICA_TYPE,
    training_operator::REPLICA_INDEX,
    training_operator::JOB_ROLE,
    trainjob::ANCESTOR,
    volcano::JOB,
    volcano::TASK,
    volcano::TASK_INDEX,
];

/// The entry of a manifest's `apiVersion` and `kind`.
#[must_use]
pub fn find(api_version: &str, kind: &str) -> Option<&'static Kind> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    KINDS.iter().copied().find(|known| known.kind == kind && known.group == group && known.versions.contains(&version))
}

/// The workload that `pod` belongs to. Where several kinds are stacked (Job, `JobSet`, `TrainJob`) the outermost
/// that the labels show is named.
#[must_use]
pub fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    KINDS.iter().find_map(|kind| (kind.identify)(pod))
}

/// Whether the pods of `member`'s role take no part in the collective work of the others. Whoever writes a manifest names
/// roles as other operators do, so that those of every kind count.
#[must_use]
pub fn is_auxiliary_role(member: Member<'_>) -> bool {
    member.role.is_some_and(|role| KINDS.iter().any(|kind| kind.gang.auxiliary_roles.contains(&role)))
}

/// Whether `pod`, a part of `member`'s workload, is one of several. `false` also where nothing shows it. The sources of
/// every kind count: a `JobSet` runs what a `PyTorchJob` runs.
#[must_use]
pub fn has_peers(pod: Pod<'_>, member: Member<'_>) -> bool {
    let mut sources = KINDS.iter().flat_map(|kind| kind.gang.size);
    member.index.is_some_and(|index| index > 0) || sources.any(|source| source.shows_peers(pod))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn env(name: &str, value: &str) -> Value {
        json!({"spec": {"containers": [{"name": "a", "env": [{"name": name, "value": value}]}]}})
    }

    #[rstest]
    #[case::nodes(env("PET_NNODES", "3"), None, true)]
    #[case::elastic(env("PET_NNODES", "1:4"), None, true)]
    #[case::one_node(env("PET_NNODES", "1"), None, false)]
    #[case::processes_of_one_pod(env("WORLD_SIZE", "8"), None, false)]
    #[case::tensorflow(env("TF_CONFIG", r#"{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}}"#), None, true)]
    #[case::tensorflow_alone(env("TF_CONFIG", r#"{"cluster": {"worker": ["b:1"]}}"#), None, false)]
    #[case::mpi(env("K_MPI_JOB_ROLE", "worker"), None, true)]
    #[case::group(json!({"metadata": {"annotations": {"leaderworkerset.sigs.k8s.io/size": "2"}}}), None, true)]
    #[case::second_of_a_role(json!({}), Some(1), true)]
    #[case::nothing_tells(json!({}), Some(0), false)]
    fn evidence(#[case] pod: Value, #[case] index: Option<u64>, #[case] expected: bool) {
        let member = Member {
            kind: find("kubeflow.org/v1", "PyTorchJob").unwrap(),
            job: "a",
            role: None,
            index,
            training: true,
        };
        assert_eq!(has_peers(Pod::new(&pod), member), expected);
    }
}
