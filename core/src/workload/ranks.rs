//! Ranks that belong to no training job, such as the pods of a `StatefulSet` that run torchrun.

use super::SizeSource;
use crate::pod::{Container, ContainerKind, Pod, Rendezvous, is_loopback, node_range};

/// Variables that show several ranks. Programs that do not train use some of these names, too: the container must also have
/// the second variable.
const VARIABLES: [(SizeSource, Option<&str>); 5] = [
    (SizeSource::Env("PADDLE_NNODES"), None),
    (SizeSource::EnvCluster("TF_CONFIG"), None),
    (SizeSource::EnvWithPeers("K_MPI_JOB_ROLE"), None),
    (SizeSource::Env("NUM_PROCESSES"), Some("COORDINATOR_ADDRESS")),
    (SizeSource::EnvWithPeers("WORKER_ADDRS"), Some("MASTER_ADDR")),
];

/// Returns true if the variables or the command of a main container show that `pod` is one of several ranks, whatever
/// created it. `replicas` is the number of its pods, if known.
#[must_use]
pub fn shows_ranks(pod: Pod<'_>, replicas: Option<u64>) -> bool {
    let mut containers = pod.containers().filter(|container| container.kind == ContainerKind::App);
    containers.any(|container| has_variable(container) || forms_group(container, replicas))
}

fn has_variable(container: Container<'_>) -> bool {
    VARIABLES.iter().any(|(source, other)| {
        let value = source.variable().and_then(|name| container.env(name));
        value.is_some_and(|value| source.value_indicates_peers(value))
            && other.is_none_or(|name| container.env_names().any(|known| known == name))
    })
}

/// Returns true if the settings of the process group need several pods.
fn forms_group(container: Container<'_>, replicas: Option<u64>) -> bool {
    let settings = Rendezvous::read(container);
    if settings.is_empty() {
        return false;
    }
    let setting = |name: &str| {
        let is_in_command = settings.has_flag(&[name]) || settings.is_computed(name);
        if is_in_command { settings.flag(name) } else { settings.variable(name) }
    };
    let may_be_several = || replicas.is_some_and(|replicas| replicas > 1);
    // An elastic job may have one pod only.
    let has_nodes =
        setting("PET_NNODES").and_then(node_range).is_some_and(|(min, max)| min > 1 || max > 1 && may_be_several());
    let ranks: Option<u64> = setting("WORLD_SIZE").and_then(|size| size.parse().ok());
    let is_remote = || setting("MASTER_ADDR").is_some_and(|host| !host.is_empty() && !is_loopback(host));
    has_nodes || container.accelerators().is_some_and(|gpus| ranks > Some(gpus.count)) && is_remote()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a pod whose container has 8 GPUs, these variables and this command.
    fn pod(variables: &[(&str, &str)], command: &[&str]) -> Value {
        let env: Vec<Value> = variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let limits = json!({"limits": {"nvidia.com/gpu": 8}});
        json!({"spec": {"containers": [{"name": "a", "env": env, "command": command, "resources": limits}]}})
    }

    #[rstest]
    #[case::nodes(pod(&[("PET_NNODES", "2")], &[]), None, true)]
    #[case::one_node(pod(&[("PET_NNODES", "1")], &[]), Some(2), false)]
    #[case::flag(pod(&[], &["torchrun", "--nnodes=2", "t.py"]), Some(1), true)]
    #[case::flag_of_a_script(pod(&[], &["sh", "-c", "torchrun --nnodes 2 t.py"]), None, true)]
    #[case::flag_before_the_variable(pod(&[("PET_NNODES", "2")], &["torchrun", "--nnodes=1"]), None, false)]
    #[case::computed_flag(pod(&[("PET_NNODES", "2")], &["sh", "-c", "torchrun --nnodes=$N"]), None, false)]
    #[case::several_flags(pod(&[], &["sh", "-c", "torchrun --nnodes=1 || torchrun --nnodes=2"]), None, false)]
    #[case::elastic(pod(&[("PET_NNODES", "1:4")], &[]), None, false)]
    #[case::elastic_with_several_pods(pod(&[("PET_NNODES", "1:4")], &[]), Some(2), true)]
    #[case::more_ranks_than_gpus(pod(&[("MASTER_ADDR", "a-0.a"), ("WORLD_SIZE", "16")], &[]), None, true)]
    #[case::as_many_ranks_as_gpus(pod(&[("MASTER_ADDR", "a-0.a"), ("WORLD_SIZE", "8")], &[]), None, false)]
    #[case::ranks_of_one_pod(pod(&[("MASTER_ADDR", "localhost"), ("WORLD_SIZE", "16")], &[]), None, false)]
    #[case::ranks_without_address(pod(&[("WORLD_SIZE", "16")], &[]), None, false)]
    #[case::paddle(pod(&[("PADDLE_NNODES", "2")], &[]), None, true)]
    #[case::tensorflow(pod(&[("TF_CONFIG", r#"{"cluster": {"worker": ["a:1", "b:1"]}}"#)], &[]), None, true)]
    #[case::tensorflow_alone(pod(&[("TF_CONFIG", r#"{"cluster": {"worker": ["a:1"]}}"#)], &[]), None, false)]
    #[case::mpi(pod(&[("K_MPI_JOB_ROLE", "worker")], &[]), None, true)]
    #[case::jax(pod(&[("NUM_PROCESSES", "2"), ("COORDINATOR_ADDRESS", "a-0.a")], &[]), None, true)]
    #[case::processes_of_a_server(pod(&[("NUM_PROCESSES", "2")], &[]), Some(2), false)]
    #[case::xgboost(pod(&[("WORKER_ADDRS", "a-0,a-1"), ("MASTER_ADDR", "a")], &[]), None, true)]
    #[case::workers_of_a_server(pod(&[("WORKER_ADDRS", "a-0,a-1")], &[]), Some(2), false)]
    #[case::nothing(pod(&[], &["python", "serve.py"]), Some(4), false)]
    fn several_ranks_are_shown(#[case] pod: Value, #[case] replicas: Option<u64>, #[case] expected: bool) {
        assert_eq!(shows_ranks(Pod::new(&pod), replicas), expected);
    }
}
