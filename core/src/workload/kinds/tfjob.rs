//! `kubeflow.org/v1` `TFJob` (training-operator v1.9).

use serde_json::{Map, Value, json};

use super::training_operator::{Framework, Job, ReplicaSpec, ReplicaTypes};
use crate::workload::template::{Draft, append, container_named, env};
use crate::workload::{GangTraits, MemberPort, RenderError, SizeSource, WorkloadKind};

/// A `TFJob`: chief, workers, parameter servers and evaluator, which find each other through `TF_CONFIG`.
pub(super) static KIND: WorkloadKind =
    FRAMEWORK.kind(|manifest| FRAMEWORK.render(manifest), |pod| FRAMEWORK.identify(&KIND, pod));

static FRAMEWORK: Framework = Framework {
    kind: "TFJob",
    resource: "tfjobs",
    controller: "tfjob-controller",
    specs: "tfReplicaSpecs",
    roles: ReplicaTypes::Open(&REPLICA_TYPES),
    container: "tensorflow",
    port: ("tfjob-port", 2222),
    restart_policy: "Never",
    is_master,
    set_cluster_spec,
    gang: GangTraits {
        size_sources: &[SizeSource::EnvCluster(CLUSTER_VARIABLE)],
        member_ports: &[MemberPort::Named("tfjob-port")],
        auxiliary_roles: &["evaluator"],
        one_group: true,
        ..GangTraits::BY_OWNER
    },
};

/// Environment variable that contains the addresses of the pods of each role.
const CLUSTER_VARIABLE: &str = "TF_CONFIG";
const REPLICA_TYPES: [&str; 5] = ["PS", "Worker", "Chief", "Master", "Evaluator"];

fn is_master(job: &Job<'_>, replica: &ReplicaSpec) -> bool {
    let is_chief = |role: &str| role == "Chief" || role == "Master";
    let has_chief = job.replicas.iter().any(|replica| is_chief(&replica.role));
    if has_chief { is_chief(&replica.role) } else { replica.role == "Worker" }
}

fn set_cluster_spec(job: &Job<'_>, replica: &ReplicaSpec, draft: &mut Draft) -> Result<(), RenderError> {
    if job.replica("Chief").is_some() && job.replica("Master").is_some() {
        return Err(job.specs.invalid("either Chief or Master"));
    }
    job.listed_total()?;
    let known = job.replicas.iter().filter(|replica| REPLICA_TYPES.contains(&replica.role.as_str()));
    let is_alone = known.map(|replica| replica.count).sum::<u64>() == 1;
    if is_alone {
        return Ok(());
    }
    let config =
        if job.spec.get("enableDynamicWorker").is_true()? { sparse_config(job, replica) } else { config(job, replica) };
    if let Some(container) = container_named(&mut draft.spec, FRAMEWORK.container) {
        append(container, "env", [env(CLUSTER_VARIABLE, config.to_string())]);
    }
    Ok(())
}

/// Returns the complete cluster specification; replica types are sorted by name, as Go sorts maps.
fn config(job: &Job<'_>, replica: &ReplicaSpec) -> Value {
    let mut cluster: Vec<_> =
        job.replicas.iter().map(|peer| (peer.role.to_lowercase(), addresses(job, peer))).collect();
    cluster.sort_by(|one, other| one.0.cmp(&other.0));
    let cluster: Map<_, _> = cluster.into_iter().map(|(role, addresses)| (role, addresses.into())).collect();
    json!({"cluster": cluster, "task": task(replica), "environment": "cloud"})
}

/// Returns the cluster specification for dynamic workers. That of a worker contains the worker and all parameter
/// servers, that of a parameter server only itself. That of any other role is empty.
fn sparse_config(job: &Job<'_>, replica: &ReplicaSpec) -> Value {
    let first = address(job, replica, 0);
    let (worker, servers) = match replica.role.as_str() {
        "PS" => (json!({}), json!([first])),
        "Worker" => {
            (json!({"0": first}), job.replica("PS").map_or(Value::Null, |servers| addresses(job, servers).into()))
        }
        _ => (json!({}), json!([])),
    };
    json!({"cluster": {"worker": worker, "ps": servers}, "task": task(replica)})
}

fn task(replica: &ReplicaSpec) -> Value {
    json!({"type": replica.role.to_lowercase(), "index": 0})
}

fn addresses(job: &Job<'_>, replica: &ReplicaSpec) -> Vec<String> {
    (0..replica.count).map(|index| address(job, replica, index)).collect()
}

fn address(job: &Job<'_>, replica: &ReplicaSpec, index: u64) -> String {
    format!("{}.{}.svc:{}", job.pod_name(&replica.role, index), job.namespace, replica.port)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::training_operator::testing;
    use super::*;
    use crate::workload::RolePod;
    use crate::workload::template::testing::{env_lines, error, render};

    fn job(dynamic: bool, roles: &[(&str, u64)]) -> Value {
        testing::job(&FRAMEWORK, &json!({"enableDynamicWorker": dynamic}), roles)
    }

    const CLUSTER: &[(&str, u64)] = &[("worker", 2), ("PS", 1), ("Chief", 1)];

    #[rstest]
    #[case::alone(false, &[("Worker", 1)], 0, None)]
    #[case::whole_cluster(false, CLUSTER, 0, Some(
        r#"{"cluster":{"chief":["j-chief-0.team.svc:2222"],"ps":["j-ps-0.team.svc:2222"],"worker":["j-worker-0.team.svc:2222","j-worker-1.team.svc:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"}"#
    ))]
    #[case::dynamic_worker(true, CLUSTER, 0, Some(
        r#"{"cluster":{"worker":{"0":"j-worker-0.team.svc:2222"},"ps":["j-ps-0.team.svc:2222"]},"task":{"type":"worker","index":0}}"#
    ))]
    #[case::dynamic_server(
        true,
        CLUSTER,
        1,
        Some(r#"{"cluster":{"worker":{},"ps":["j-ps-0.team.svc:2222"]},"task":{"type":"ps","index":0}}"#)
    )]
    #[case::dynamic_chief(
        true,
        CLUSTER,
        2,
        Some(r#"{"cluster":{"worker":{},"ps":[]},"task":{"type":"chief","index":0}}"#)
    )]
    #[case::dynamic_without_servers(true, &[("Worker", 2)], 0, Some(
        r#"{"cluster":{"worker":{"0":"j-worker-0.team.svc:2222"},"ps":null},"task":{"type":"worker","index":0}}"#
    ))]
    fn the_cluster_is_encoded_as_go_does(
        #[case] dynamic: bool,
        #[case] roles: &[(&str, u64)],
        #[case] role: usize,
        #[case] config: Option<&str>,
    ) {
        let roles = render(&job(dynamic, roles)).unwrap();
        assert_eq!(env_lines(&roles[role], 1), Vec::<String>::new());
        assert_eq!(
            env_lines(&roles[role], 0),
            config.map(|config| format!("TF_CONFIG={config}")).into_iter().collect::<Vec<_>>()
        );
    }

    #[rstest]
    #[case::chief(CLUSTER, &["Chief"])]
    #[case::first_worker(&[("PS", 1), ("Worker", 2)], &["Worker"])]
    #[case::no_master(&[("PS", 2)], &[])]
    #[case::custom_type(&[("Reader", 1), ("master", 1)], &["Master"])]
    fn one_role_is_the_master(#[case] roles: &[(&str, u64)], #[case] expected: &[&str]) {
        let roles = render(&job(false, roles)).unwrap();
        let is_master =
            |role: &&RolePod| role.pod["metadata"]["labels"].get("training.kubeflow.org/job-role").is_some();
        assert_eq!(roles.iter().filter(is_master).map(|role| role.name.as_str()).collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case::two_chiefs(&[("Chief", 1), ("Master", 1)], "expected either Chief or Master")]
    #[case::too_many_pods(&[("Worker", 2_000_000_000)], "expected at most 50000, because every pod lists all others")]
    fn an_invalid_spec_is_rejected(#[case] roles: &[(&str, u64)], #[case] message: &str) {
        let error = error(&job(false, roles));
        assert!(error.ends_with(message), "{error}");
    }
}
