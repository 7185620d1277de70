//! Identifies the workload of a pod, only by its labels and its owner.

use std::sync::LazyLock;

use super::{KINDS, PodIdentity, SizeSource};
use crate::pod::Pod;

/// Labels that [`identify`] and the functions of [`GangTraits`](super::GangTraits) read: those of all kinds, each once.
pub const IDENTITY_LABELS: &[&str] = UNIQUE_LABELS.0.split_at(UNIQUE_LABELS.1).0;

/// The labels of all kinds at the start of the array, and their number.
const UNIQUE_LABELS: ([&str; ALL_LABELS], usize) = {
    let (mut unique, mut count) = ([""; ALL_LABELS], 0);
    let mut kinds = KINDS;
    while let [kind, other_kinds @ ..] = kinds {
        let mut labels = kind.labels;
        while let [label, other_labels @ ..] = labels {
            if !contains(unique.split_at(count).0, label) {
                unique[count] = label;
                count += 1;
            }
            labels = other_labels;
        }
        kinds = other_kinds;
    }
    (unique, count)
};

/// Number of the labels of all kinds. One that several kinds have counts for each.
const ALL_LABELS: usize = {
    let (mut count, mut kinds) = (0, KINDS);
    while let [kind, other_kinds @ ..] = kinds {
        count += kind.labels.len();
        kinds = other_kinds;
    }
    count
};

const fn contains(mut texts: &[&str], text: &str) -> bool {
    while let [first, others @ ..] = texts {
        if is_equal(first.as_bytes(), text.as_bytes()) {
            return true;
        }
        texts = others;
    }
    false
}

const fn is_equal(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([first, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        if *first != *other {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

/// The size sources of all kinds.
static SIZE_SOURCES: LazyLock<Vec<SizeSource>> =
    LazyLock::new(|| KINDS.iter().flat_map(|kind| kind.gang.size_sources).copied().collect());

/// Returns the workload that `pod` belongs to. If workloads own each other (`TrainJob`, `JobSet`, Job), returns the
/// outermost one that the labels identify.
#[must_use]
pub fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    KINDS.iter().find_map(|kind| (kind.identify)(pod))
}

/// Returns true if the pods of `member`'s role do not take part in the collective work. Considers the auxiliary roles
/// of every kind, because users name roles after those of other operators.
#[must_use]
pub fn is_auxiliary_role(member: PodIdentity<'_>) -> bool {
    member.role.is_some_and(|role| KINDS.iter().any(|kind| kind.gang.auxiliary_roles.contains(&role)))
}

/// Returns true if `pod`, which belongs to `member`'s workload, is known to have peers. Considers the size sources of
/// every kind, because a `JobSet` can set the variables of a `PyTorchJob`.
#[must_use]
pub fn has_peers(pod: Pod<'_>, member: PodIdentity<'_>) -> bool {
    member.index.is_some_and(|index| index > 0) || shows_peers(pod)
}

/// Returns true if a field that all pods of a gang share shows that there are several. Unlike [`has_peers`], the result
/// is the same for every pod of the gang.
#[must_use]
pub fn shows_peers(pod: Pod<'_>) -> bool {
    SizeSource::any_indicates_peers(&SIZE_SOURCES, pod)
}

/// Returns true if `pod` takes part in the collective work of `member`'s workload, and is known to have peers: by its own
/// fields, or because its role has several `replicas`.
#[must_use]
pub fn has_training_peers(pod: Pod<'_>, member: PodIdentity<'_>, replicas: Option<u64>) -> bool {
    let has_replicas = replicas.is_some_and(|replicas| replicas > 1);
    member.training && !is_auxiliary_role(member) && (has_replicas || has_peers(pod, member))
}

/// Returns true if `pod` is one of several of a group that communicates like a training job, although `member`'s workload
/// serves: that of a `LeaderWorkerSet`.
#[must_use]
pub fn is_serving_group(pod: Pod<'_>, member: PodIdentity<'_>) -> bool {
    !member.training && member.kind.gang.portless_service && shows_peers(pod)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::workload::find;

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
    #[case::unknown(json!({}), Some(0), false)]
    fn peers_are_detected(#[case] pod: Value, #[case] index: Option<u64>, #[case] expected: bool) {
        let member = PodIdentity {
            kind: find("kubeflow.org/v1", "PyTorchJob").unwrap(),
            workload: "a",
            role: None,
            index,
            training: true,
        };
        let pod = Pod::new(&pod);
        assert_eq!(has_peers(pod, member), expected);
        assert_eq!(shows_peers(pod), expected && index.is_none());
    }
}
