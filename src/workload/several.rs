//! Whether a pod works together with others, by the evidence that its own operator left in it.

use super::Member;
use crate::pod::{ContainerKind, Pod};

/// Environment variables that hold a number of pods (or `min:max` of them).
const NUMBERS_OF_PODS: [&str; 4] = ["PET_NNODES", "NUM_PROCESSES", "PADDLE_NNODES", "LWS_GROUP_SIZE"];
/// Environment variables that only a pod with peers is given.
const SIGNS_OF_PEERS: [&str; 2] = ["K_MPI_JOB_ROLE", "OMPI_MCA_orte_default_hostfile"];
/// Annotations and labels that hold a number of pods or jobs.
const COUNTS: [&str; 2] = ["leaderworkerset.sigs.k8s.io/size", "jobset.sigs.k8s.io/global-replicas"];

/// Roles, in the words of the operators' labels, that prepare, start or judge the work and take no part in it.
const ROLES_APART: [&str; 5] = ["dataset-initializer", "model-initializer", "launcher", "evaluator", "submittergroup"];

/// Whether the pods of `member`'s role take no part in the collective work of the others.
#[must_use]
pub fn stands_apart(member: Member<'_>) -> bool {
    member.role.is_some_and(|role| ROLES_APART.contains(&role))
}

/// Whether `pod`, a part of `member`'s workload, is one of several. `false` also where nothing tells.
#[must_use]
pub fn several_pods(pod: Pod<'_>, member: Member<'_>) -> bool {
    let containers = || pod.containers().filter(|container| container.kind == ContainerKind::App);
    let by_number = || {
        containers().any(|container| {
            NUMBERS_OF_PODS.iter().filter_map(|name| container.env(name)).any(|text| largest(text) > 1)
        })
    };
    let by_sign = || containers().any(|container| SIGNS_OF_PEERS.iter().any(|name| container.env(name).is_some()));
    let by_count =
        || COUNTS.iter().filter_map(|key| pod.annotation(key).or(pod.label(key))).any(|text| largest(text) > 1);
    let by_cluster =
        || containers().filter_map(|container| container.env("TF_CONFIG")).any(|text| tensorflow_hosts(text) > 1);
    member.index.is_some_and(|index| index > 0) || by_number() || by_sign() || by_count() || by_cluster()
}

/// The largest number of a `min:max` range; 0 where there is none.
fn largest(text: &str) -> u64 {
    text.split(':').filter_map(|part| part.trim().parse().ok()).max().unwrap_or_default()
}

/// The longest `TF_CONFIG` that is parsed, in bytes: JSON takes many times its length. A longer one lists hundreds of hosts.
const TF_CONFIG_LIMIT: usize = 32 * 1024;

fn tensorflow_hosts(text: &str) -> usize {
    if text.len() > TF_CONFIG_LIMIT {
        return usize::MAX;
    }
    let Ok(config) = serde_json::from_str::<serde_json::Value>(text) else { return 0 };
    let cluster = config.get("cluster").and_then(serde_json::Value::as_object);
    cluster.into_iter().flatten().filter_map(|(_, hosts)| hosts.as_array()).map(Vec::len).sum()
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
        let member = Member { kind: "PyTorchJob", job: "a", role: None, index, training: true };
        assert_eq!(several_pods(Pod::new(&pod), member), expected);
    }
}
