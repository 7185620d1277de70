//! `kubeflow.org/v1` `TFJob` (training-operator v1.9).

use serde_json::{Map, Value, json};

use super::training_operator::{Framework, Job, Replica, Roles};
use crate::workload::template::{Draft, append, container_named, env};
use crate::workload::{GangTraits, Kind, RenderError, SizeSource};

/// Chief, workers, parameter servers and evaluator, who find each other through `TF_CONFIG`.
pub(super) static KIND: Kind =
    FRAMEWORK.kind(|manifest| FRAMEWORK.render(manifest), |pod| FRAMEWORK.identify(&KIND, pod));

static FRAMEWORK: Framework = Framework {
    kind: "TFJob",
    resource: "tfjobs",
    controller: "tfjob-controller",
    specs: "tfReplicaSpecs",
    roles: Roles::Any(&TYPES),
    container: "tensorflow",
    port: ("tfjob-port", 2222),
    restart_policy: "Never",
    is_master,
    connect,
    gang: GangTraits {
        size: &[SizeSource::EnvCluster(CLUSTER_VARIABLE)],
        auxiliary_roles: &["evaluator"],
        ..GangTraits::BY_OWNER
    },
};

/// The variable with the addresses of all pods by their roles.
const CLUSTER_VARIABLE: &str = "TF_CONFIG";
const TYPES: [&str; 5] = ["PS", "Worker", "Chief", "Master", "Evaluator"];

fn is_master(job: &Job<'_>, replica: &Replica) -> bool {
    let leads = |role: &str| role == "Chief" || role == "Master";
    let has_leader = job.replicas.iter().any(|replica| leads(&replica.role));
    if has_leader { leads(&replica.role) } else { replica.role == "Worker" }
}

fn connect(job: &Job<'_>, replica: &Replica, draft: &mut Draft) -> Result<(), RenderError> {
    if job.replica("Chief").is_some() && job.replica("Master").is_some() {
        return Err(job.specs.invalid("either Chief or Master"));
    }
    job.listed_total()?;
    let known = job.replicas.iter().filter(|replica| TYPES.contains(&replica.role.as_str()));
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

/// The whole cluster, its types sorted by name as Go sorts a map.
fn config(job: &Job<'_>, replica: &Replica) -> Value {
    let mut cluster: Vec<_> =
        job.replicas.iter().map(|peer| (peer.role.to_lowercase(), addresses(job, peer))).collect();
    cluster.sort_by(|one, other| one.0.cmp(&other.0));
    let cluster: Map<_, _> = cluster.into_iter().map(|(role, addresses)| (role, addresses.into())).collect();
    json!({"cluster": cluster, "task": task(replica), "environment": "cloud"})
}

/// What a pod of a dynamic cluster needs: a worker sees itself and all parameter servers, others see themselves.
fn sparse_config(job: &Job<'_>, replica: &Replica) -> Value {
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

fn task(replica: &Replica) -> Value {
    json!({"type": replica.role.to_lowercase(), "index": 0})
}

fn addresses(job: &Job<'_>, replica: &Replica) -> Vec<String> {
    (0..replica.count).map(|index| address(job, replica, index)).collect()
}

fn address(job: &Job<'_>, replica: &Replica, index: u64) -> String {
    format!("{}.{}.svc:{}", job.pod_name(&replica.role, index), job.namespace, replica.port)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::training_operator::testing;
    use super::*;
    use crate::workload::Role;
    use crate::workload::template::testing::{env_of, error, render};

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
    fn the_cluster_is_written_as_go_does(
        #[case] dynamic: bool,
        #[case] roles: &[(&str, u64)],
        #[case] role: usize,
        #[case] config: Option<&str>,
    ) {
        let roles = render(&job(dynamic, roles)).unwrap();
        assert_eq!(env_of(&roles[role], 1), Vec::<String>::new());
        assert_eq!(
            env_of(&roles[role], 0),
            config.map(|config| format!("TF_CONFIG={config}")).into_iter().collect::<Vec<_>>()
        );
    }

    #[rstest]
    #[case::chief_leads(CLUSTER, &["Chief"])]
    #[case::first_worker_leads(&[("PS", 1), ("Worker", 2)], &["Worker"])]
    #[case::nobody_leads(&[("PS", 2)], &[])]
    #[case::a_type_of_ones_own(&[("Reader", 1), ("master", 1)], &["Master"])]
    fn one_role_leads(#[case] roles: &[(&str, u64)], #[case] expected: &[&str]) {
        let roles = render(&job(false, roles)).unwrap();
        let leads = |role: &&Role| role.pod["metadata"]["labels"].get("training.kubeflow.org/job-role").is_some();
        assert_eq!(roles.iter().filter(leads).map(|role| role.name.as_str()).collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case::two_leaders(&[("Chief", 1), ("Master", 1)], "expected either Chief or Master")]
    #[case::too_many_to_list(&[("Worker", 2_000_000_000)], "expected at most 50000, as each pod lists all others")]
    fn what_cannot_be_is_an_error(#[case] roles: &[(&str, u64)], #[case] message: &str) {
        let error = error(&job(false, roles));
        assert!(error.ends_with(message), "{error}");
    }
}
