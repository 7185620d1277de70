//! `kubeflow.org/v1` `PyTorchJob` (training-operator v1.9).

use serde_json::{Value, json};

use super::training_operator::{self, Framework, Job, ReplicaSpec, ReplicaTypes, add_env};
use crate::workload::template::{Draft, Field, append, env};
use crate::workload::{GangShape, GangTraits, Manifest, MemberPort, RenderError, SizeSource, WorkloadKind};

/// A `PyTorchJob`: a master and workers with torchrun's environment variables, or only workers with an elastic policy.
pub(super) static KIND: WorkloadKind =
    FRAMEWORK.kind(|manifest| FRAMEWORK.render(manifest), |pod| FRAMEWORK.identify(&KIND, pod));

static FRAMEWORK: Framework = Framework {
    kind: "PyTorchJob",
    resource: "pytorchjobs",
    controller: "pytorchjob-controller",
    specs: SPECS,
    roles: ReplicaTypes::Fixed(&["Master", "Worker"], "Master or Worker"),
    container: "pytorch",
    port: ("pytorchjob-port", 23456),
    restart_policy: "OnFailure",
    is_master: |job, replica| replica.role == "Master" || job.replica("Master").is_none(),
    set_cluster_spec,
    gang: GangTraits {
        size_sources: &[SizeSource::Env(NODES_VARIABLE)],
        member_ports: &[MemberPort::Named("pytorchjob-port")],
        one_group: true,
        shape: Some(gang_shape),
        ..GangTraits::BY_OWNER
    },
};

/// Field with the replica specs.
const SPECS: &str = "pytorchReplicaSpecs";
/// Init container of the workers of a master.
const WAIT_FOR_MASTER: &str = "init-pytorch";

/// Environment variable from which torchrun reads the number of pods.
pub(super) const NODES_VARIABLE: &str = "PET_NNODES";

/// Reads the gang. With a master, the operator adds an init container to the workers.
fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let mut shape = training_operator::gang_shape(manifest)?;
    let specs = Field::root(manifest.raw).get("spec").get(SPECS);
    if specs.get("Master").is_present() {
        let template = specs.get("Worker").get("template");
        for worker in shape.roles.iter_mut().filter(|role| role.name == "worker") {
            worker.add_container(&template, "initContainers", (WAIT_FOR_MASTER, init_resources()));
        }
    }
    Ok(shape)
}

fn set_cluster_spec(job: &Job<'_>, replica: &ReplicaSpec, draft: &mut Draft) -> Result<(), RenderError> {
    let elastic = job.spec.get("elasticPolicy");
    let mut variables = vec![env("PYTHONUNBUFFERED", "1")];
    let processes = processes_per_node(job, &elastic)?;
    if let Some(master) = job.replica("Master") {
        if master.count != 1 {
            return Err(job.specs.get("Master").get("replicas").invalid("1"));
        }
        let port = master.port.to_string();
        let address = job.pod_name("Master", 0);
        // For values such as "auto", which are resolved at run time, the operator assumes one process per node.
        let per_node = processes.and_then(|text| text.parse::<i64>().ok()).unwrap_or(1);
        let world = i128::from(job.total()) * i128::from(per_node);
        let rank = if replica.role == "Worker" { "1" } else { "0" };
        variables.extend([
            env("MASTER_PORT", port.as_str()),
            env("PET_MASTER_PORT", port),
            env("MASTER_ADDR", address.as_str()),
            env("PET_MASTER_ADDR", address.as_str()),
            env("WORLD_SIZE", world.to_string()),
            env("RANK", rank),
            env("PET_NODE_RANK", rank),
        ]);
        if replica.role == "Worker" {
            append(&mut draft.spec, "initContainers", [init_container(&address)]);
        }
    }
    variables.extend(processes.map(|count| env("PET_NPROC_PER_NODE", count)));
    if elastic.is_present() {
        variables.extend(rendezvous_env(job, &elastic)?);
    } else {
        variables.push(env(NODES_VARIABLE, job.total().to_string()));
    }
    add_env(draft, &variables);
    Ok(())
}

/// Returns `nprocPerNode`. Its default does not apply if the elastic policy sets the deprecated `nProcPerNode`.
fn processes_per_node<'a>(job: &Job<'a>, elastic: &Field<'a>) -> Result<Option<&'a str>, RenderError> {
    let configured = job.spec.get("nprocPerNode").raw_text()?;
    Ok(configured.or(if elastic.get("nProcPerNode").is_present() { None } else { Some("auto") }))
}

fn rendezvous_env(job: &Job<'_>, elastic: &Field<'_>) -> Result<Vec<Value>, RenderError> {
    let worker = job.required_replica("Worker")?;
    let host = elastic.get("rdzvHost").raw_text()?.map_or_else(|| job.pod_name("Worker", 0), str::to_owned);
    let port = elastic.get("rdzvPort").count()?.unwrap_or(worker.port);
    let (min, max) = (elastic.get("minReplicas").count()?, elastic.get("maxReplicas").count()?);
    let min_nodes = min.or(max).unwrap_or(worker.count);
    let max_nodes = max.or(min).unwrap_or(worker.count);
    let mut variables = vec![
        env("PET_RDZV_ENDPOINT", format!("{host}:{port}")),
        env("PET_RDZV_BACKEND", elastic.get("rdzvBackend").raw_text()?.unwrap_or("c10d")),
        env(NODES_VARIABLE, format!("{min_nodes}:{max_nodes}")),
    ];
    variables.extend(elastic.get("maxRestarts").count()?.map(|count| env("PET_MAX_RESTARTS", count.to_string())));
    variables.extend(elastic.get("nProcPerNode").count()?.map(|count| env("PET_NPROC_PER_NODE", count.to_string())));
    variables.extend(elastic.get("rdzvId").raw_text()?.map(|id| env("PET_RDZV_ID", id)));
    let mut pairs = Vec::new();
    for entry in elastic.get("rdzvConf").items()? {
        pairs.push(format!(
            "{}={}",
            entry.get("key").text()?.unwrap_or_default(),
            entry.get("value").text()?.unwrap_or_default()
        ));
    }
    if !pairs.is_empty() {
        variables.push(env("PET_RDZV_CONF", pairs.join(",")));
    }
    if elastic.get("standalone").is_true()? {
        variables.push(env("PET_STANDALONE", ""));
    }
    Ok(variables)
}

/// Returns the operator's init container, which waits until the master's name resolves.
fn init_container(master: &str) -> Value {
    let script = format!(
        "err=1;for i in $(seq 100); do if nslookup {master}; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err"
    );
    json!({
        "name": WAIT_FOR_MASTER,
        "image": "alpine:3.10",
        "command": ["sh", "-c", script],
        "resources": init_resources(),
        "imagePullPolicy": "IfNotPresent",
    })
}

fn init_resources() -> Value {
    json!({"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}})
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::training_operator::testing::job;
    use super::*;
    use crate::workload::template::testing::{env_lines, error, render};

    const PAIR: &[(&str, u64)] = &[("Master", 1), ("Worker", 3)];
    const WORKERS: &[(&str, u64)] = &[("Worker", 3)];

    #[rstest]
    #[case::master(json!({"nprocPerNode": "8"}), PAIR, 0, &[
        "PYTHONUNBUFFERED=1", "MASTER_PORT=23456", "PET_MASTER_PORT=23456", "MASTER_ADDR=j-master-0", "PET_MASTER_ADDR=j-master-0",
        "WORLD_SIZE=32", "RANK=0", "PET_NODE_RANK=0", "PET_NPROC_PER_NODE=8", "PET_NNODES=4",
    ])]
    #[case::worker_of_a_master(json!({}), PAIR, 1, &[
        "PYTHONUNBUFFERED=1", "MASTER_PORT=23456", "PET_MASTER_PORT=23456", "MASTER_ADDR=j-master-0", "PET_MASTER_ADDR=j-master-0",
        "WORLD_SIZE=4", "RANK=1", "PET_NODE_RANK=1", "PET_NPROC_PER_NODE=auto", "PET_NNODES=4",
    ])]
    #[case::elastic_by_default(json!({"elasticPolicy": {}}), WORKERS, 0, &[
        "PYTHONUNBUFFERED=1", "PET_NPROC_PER_NODE=auto", "PET_RDZV_ENDPOINT=j-worker-0:23456", "PET_RDZV_BACKEND=c10d", "PET_NNODES=3:3",
    ])]
    #[case::elastic_in_full(
        json!({"elasticPolicy": {
            "maxReplicas": 5, "rdzvBackend": "etcd", "rdzvHost": "etcd", "rdzvPort": 2379, "rdzvId": "r", "maxRestarts": 7, "nProcPerNode": 4,
            "rdzvConf": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}], "standalone": true,
        }}),
        WORKERS,
        0,
        &[
            "PYTHONUNBUFFERED=1", "PET_RDZV_ENDPOINT=etcd:2379", "PET_RDZV_BACKEND=etcd", "PET_NNODES=5:5", "PET_MAX_RESTARTS=7",
            "PET_NPROC_PER_NODE=4", "PET_RDZV_ID=r", "PET_RDZV_CONF=a=1,b=2", "PET_STANDALONE=",
        ]
    )]
    fn the_environment_depends_on_the_spec(
        #[case] spec: Value,
        #[case] roles: &[(&str, u64)],
        #[case] role: usize,
        #[case] expected: &[&str],
    ) {
        let roles = render(&job(&FRAMEWORK, &spec, roles)).unwrap();
        assert_eq!(env_lines(&roles[role], 0), expected);
    }

    #[test]
    fn only_workers_wait_for_the_master() {
        let roles = render(&job(&FRAMEWORK, &json!({}), PAIR)).unwrap();
        let script =
            |role: usize| roles[role].pod["spec"].get("initContainers").map(|list| list[0]["command"][2].to_string());
        assert_eq!(script(0), None);
        assert!(script(1).unwrap().contains("nslookup j-master-0;"));
        assert_eq!(render(&job(&FRAMEWORK, &json!({}), WORKERS)).unwrap()[0].pod["spec"].get("initContainers"), None);
    }

    #[rstest]
    #[case::number(json!({"nprocPerNode": 8}), PAIR, "spec.nprocPerNode is 8: expected a string; quote it")]
    #[case::two_masters(json!({}), &[("Master", 2), ("Worker", 3)], "spec.pytorchReplicaSpecs.Master.replicas is 2: expected 1")]
    #[case::elastic_without_workers(json!({"elasticPolicy": {}}), &[("Master", 1)], "spec.pytorchReplicaSpecs.Worker is missing")]
    fn rejects_what_the_operator_rejects(#[case] spec: Value, #[case] roles: &[(&str, u64)], #[case] message: &str) {
        assert_eq!(error(&job(&FRAMEWORK, &spec, roles)), message);
    }
}
