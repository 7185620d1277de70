use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::manifest::Document;
use crate::workload::template::testing::{env_lines, render_with};
use crate::workload::{RuntimeReference, Runtimes, StockRuntimes, TrainerVersion};

/// Renders a job on a runtime with one node.
fn render(policy: &Value, node: &Value, job: &Value) -> Vec<RolePod> {
    let replicated_job = |name: &str, ancestor: Option<&str>, container: &Value| {
        let labels = ancestor.map_or(json!({}), |ancestor| json!({ANCESTOR: ancestor}));
        json!({"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [container]}}}}})
    };
    let mut replicated_jobs = vec![replicated_job("node", Some(TRAINER), node)];
    if policy.get("mpi").is_some() {
        replicated_jobs = vec![
            replicated_job("launcher", Some(TRAINER), &json!({"name": "node"})),
            replicated_job("node", None, node),
        ];
    }
    render_on(&json!({"mlPolicy": policy, "template": {"spec": {"replicatedJobs": replicated_jobs}}}), job)
}

/// Returns the runtime `r` with this spec.
fn runtimes(spec: &Value) -> Runtimes {
    let reference = RuntimeReference { namespace: None, name: "r".to_owned() };
    let document = Document::generated("runtime", json!({"spec": spec}));
    Runtimes { by_name: [(reference, document.into())].into(), ..Runtimes::default() }
}

/// Renders a job on a runtime with this spec.
fn render_on(runtime: &Value, job: &Value) -> Vec<RolePod> {
    let runtimes = runtimes(runtime);
    let mut spec = job.clone();
    spec["runtimeRef"] = json!({"name": "r"});
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"}, "spec": spec,
    });
    render_with(&job, &runtimes).unwrap()
}

const INDEX: &str = "JOB_COMPLETION_INDEX<metadata.labels['batch.kubernetes.io/job-completion-index']";

#[rstest]
#[case::torch_by_cpu(
    json!({"numNodes": 2, "torch": {}}), json!({"resources": {"requests": {"cpu": "3500m"}}}), json!({"trainer": {}}), 0,
    &["PET_NNODES=2", "PET_NPROC_PER_NODE=4", "PET_NODE_RANK<metadata.annotations['batch.kubernetes.io/job-completion-index']",
      "PET_MASTER_ADDR=j-node-0-0.j", "PET_MASTER_PORT=29500"]
)]
#[case::torch_by_gpu(
    json!({"torch": {}}), json!({"env": [{"name": "B", "value": "0"}]}),
    json!({"trainer": {"numNodes": 3, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}}), 0,
    &["B=2", "A=1", "PET_NNODES=3", "PET_NPROC_PER_NODE=auto", "PET_NODE_RANK<metadata.annotations['batch.kubernetes.io/job-completion-index']",
      "PET_MASTER_ADDR=j-node-0-0.j", "PET_MASTER_PORT=29500"]
)]
#[case::torch_without_trainer(json!({"torch": {}}), json!({}), json!({}), 0, &[])]
#[case::plain(json!({}), json!({}), json!({"trainer": {"env": [{"name": "A", "value": "1"}]}}), 0, &["A=1"])]
#[case::jax(
    json!({"jax": {}}), json!({}), json!({"trainer": {"numNodes": 2, "env": [{"name": "A", "value": "1"}]}}), 0,
    &["JAX_NUM_PROCESSES=2", "JAX_PROCESS_ID<metadata.annotations['batch.kubernetes.io/job-completion-index']",
      "JAX_COORDINATOR_ADDRESS=j-node-0-0.j:29500", "A=1"]
)]
#[case::xgboost(
    json!({"xgboost": {}}), json!({"resources": {"limits": {"nvidia.com/gpu": "4"}}}), json!({"trainer": {"numNodes": 2}}), 0,
    &["DMLC_TRACKER_URI=j-node-0-0.j", "DMLC_TRACKER_PORT=29500",
      "DMLC_TASK_ID<metadata.annotations['batch.kubernetes.io/job-completion-index']", "DMLC_NUM_WORKER=8"]
)]
#[case::mpi_launcher(
    json!({"mpi": {}}), json!({}), json!({"trainer": {"env": [{"name": "A", "value": "1"}], "resourcesPerNode": {"limits": {"nvidia.com/gpu": 2}}}}), 0,
    &["OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames=true",
      "OMPI_MCA_orte_set_default_slots=2", "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10", "A=1"]
)]
#[case::mpi_node(json!({"mpi": {}}), json!({}), json!({"trainer": {"env": [{"name": "A", "value": "1"}]}}), 1, &[])]
#[case::mpi_node_with_launcher_as_node(
    json!({"mpi": {"runLauncherAsNode": true}}), json!({}), json!({"trainer": {"env": [{"name": "A", "value": "1"}]}}), 1, &["A=1"]
)]
fn the_environment_depends_on_the_policy(
    #[case] policy: Value,
    #[case] node: Value,
    #[case] job: Value,
    #[case] role: usize,
    #[case] expected: &[&str],
) {
    let mut node = node;
    node["name"] = json!("node");
    let roles = render(&policy, &node, &job);
    let mut expected = expected.to_vec();
    expected.push(INDEX);
    assert_eq!(env_lines(&roles[role], 0), expected);
}

/// Renders a job with this number of processes on a runtime for `policy`. Returns the variable with the number of processes.
fn processes(
    (policy, by_runtime): (&str, Value),
    by_job: &Value,
    resources: &Value,
    stock: StockRuntimes,
) -> Result<Option<String>, RenderError> {
    let node = json!({"name": "node", "image": "i", "resources": {"limits": resources}});
    let labels = json!({ANCESTOR: TRAINER});
    let replicated_job = json!({"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [node]}}}}});
    let policy = json!({policy: {"numProcPerNode": by_runtime}});
    let spec = json!({"mlPolicy": policy, "template": {"spec": {"replicatedJobs": [replicated_job]}}});
    let runtimes = Runtimes { stock, ..runtimes(&spec) };
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"},
        "spec": {"runtimeRef": {"name": "r"}, "trainer": {"numProcPerNode": by_job}},
    });
    let roles = render_with(&job, &runtimes)?;
    let lines = env_lines(&roles[0], 0);
    Ok(lines.iter().find_map(|line| line.strip_prefix("PET_NPROC_PER_NODE=")).map(str::to_owned))
}

const NEWEST: StockRuntimes = StockRuntimes::Newest;
const V2_0: StockRuntimes = StockRuntimes::Version(TrainerVersion::V2_0);
const V2_1: StockRuntimes = StockRuntimes::Version(TrainerVersion::V2_1);
const V2_2: StockRuntimes = StockRuntimes::Version(TrainerVersion::V2_2);

#[rstest]
#[case::gpu(json!("gpu"), json!(null), json!({"nvidia.com/gpu": 8}), NEWEST, "gpu")]
#[case::of_a_version(json!("gpu"), json!(null), json!({"nvidia.com/gpu": 8}), V2_0, "gpu")]
#[case::of_the_runtimes_of_a_cluster(json!("gpu"), json!(null), json!({}), StockRuntimes::None, "gpu")]
#[case::auto_with_gpus(json!("auto"), json!(null), json!({"nvidia.com/gpu": 8, "cpu": 4}), V2_1, "auto")]
#[case::auto_without_gpus(json!("auto"), json!(null), json!({"cpu": "3500m"}), V2_1, "4")]
#[case::cpu_beside_gpus(json!("cpu"), json!(null), json!({"nvidia.com/gpu": 8, "cpu": 4}), NEWEST, "4")]
#[case::unknown_number_of_cpus(json!("cpu"), json!(null), json!({}), NEWEST, "1")]
#[case::number(json!(2), json!("gpu"), json!({"nvidia.com/gpu": 8}), V2_1, "2")]
#[case::by_the_runtime(json!(null), json!("gpu"), json!({}), NEWEST, "gpu")]
#[case::number_by_the_runtime(json!(null), json!(4), json!({"nvidia.com/gpu": 8}), V2_0, "4")]
#[case::dropped_from_the_runtime(json!(null), json!(4), json!({"nvidia.com/gpu": 8}), V2_2, "auto")]
fn processes_are_a_number_or_a_word(
    #[case] by_job: Value,
    #[case] by_runtime: Value,
    #[case] resources: Value,
    #[case] stock: StockRuntimes,
    #[case] expected: &str,
) {
    assert_eq!(processes(("torch", by_runtime), &by_job, &resources, stock).unwrap().as_deref(), Some(expected));
}

#[rstest]
#[case::unknown_word("torch", json!("many"), V2_1, "spec.trainer.numProcPerNode is \"many\": expected a whole number, auto, cpu or gpu")]
#[case::number_in_quotes("torch", json!("8"), NEWEST, "spec.trainer.numProcPerNode is \"8\": expected a whole number, auto, cpu or gpu; remove the quotes")]
#[case::newer_version("torch", json!("gpu"), V2_2, "spec.trainer.numProcPerNode is \"gpu\": expected a whole number from 0 to 2147483647")]
#[case::fraction("torch", json!(1.5), V2_1, "spec.trainer.numProcPerNode is 1.5: expected a whole number from 0 to 2147483647")]
#[case::mpi("mpi", json!("auto"), V2_1, "spec.trainer.numProcPerNode is \"auto\": expected a whole number from 0 to 2147483647")]
fn processes_that_trainer_rejects_are_errors(
    #[case] policy: &str,
    #[case] by_job: Value,
    #[case] stock: StockRuntimes,
    #[case] expected: &str,
) {
    assert_eq!(processes((policy, json!(null)), &by_job, &json!({}), stock).unwrap_err().to_string(), expected);
}

#[test]
fn the_pod_has_the_metadata_of_job_and_job_set() {
    let node = json!({"name": "node", "ports": [{"containerPort": 80}], "resources": {"limits": {"memory": "1Gi"}}});
    let job = json!({"trainer": {"numNodes": 2, "image": "i", "resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}}});
    let roles = render(&json!({"torch": {}}), &node, &job);
    let pod = &roles[0].pod;
    assert_eq!(roles[0].replicas, Some(2));
    assert_eq!(pod["metadata"]["generateName"], "j-node-0-0-");
    let labels = &pod["metadata"]["labels"];
    for (key, value) in [
        ("jobset-name", "j"),
        ("replicatedjob-name", "node"),
        ("replicatedjob-replicas", "1"),
        ("global-replicas", "1"),
        ("job-index", "0"),
        ("job-global-index", "0"),
        ("group-name", "default"),
        ("group-replicas", "1"),
        ("job-group-index", "0"),
        ("restart-attempt", "0"),
        // printf team/j-node-0 | sha1sum
        ("job-key", "3d366fb9b73dde4639ce667f647f37a2c912aaba"),
    ] {
        let key = format!("jobset.sigs.k8s.io/{key}");
        assert_eq!(labels[&key], pod["metadata"]["annotations"][&key]);
        assert!(labels[&key].as_str().unwrap().starts_with(value), "{key} is {}", labels[&key]);
    }
    assert_eq!(labels["batch.kubernetes.io/job-completion-index"], "0");
    assert_eq!(labels["batch.kubernetes.io/job-name"], "j-node-0");
    let spec = &pod["spec"];
    assert_eq!(
        (&spec["hostname"], &spec["subdomain"], &spec["restartPolicy"]),
        (&json!("j-node-0-0"), &json!("j"), &json!("OnFailure"))
    );
    assert_eq!(spec["containers"][0]["image"], "i");
    assert_eq!(spec["containers"][0]["ports"], json!([{"containerPort": 29500}]));
    assert_eq!(spec["containers"][0]["resources"], json!({"limits": {"memory": "1Gi", "nvidia.com/gpu": 1}}));
}

#[rstest]
#[case::coscheduling(json!({"podGroupPolicy": {"coscheduling": {}}}), json!({}), "/metadata/labels/scheduling.x-k8s.io~1pod-group", json!("j"), &[])]
#[case::volcano(json!({"podGroupPolicy": {"volcano": {}}}), json!({}), "/metadata/annotations/scheduling.k8s.io~1group-name", json!("j"), &[])]
#[case::claims(
    json!({"template": {"spec": {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "ckpt"}}]}]}}}), json!({}),
    "/spec/volumes", json!([{"name": "ckpt", "persistentVolumeClaim": {"claimName": "ckpt-j"}}]), &[]
)]
#[case::suspended(
    json!({}), json!({"suspend": true}), "/spec/hostname", json!("j-node-0-0"),
    &["the JobSet is suspended: its pods are created when it is resumed"]
)]
#[case::resumed(json!({"template": {"spec": {"suspend": true}}}), json!({}), "/spec/hostname", json!("j-node-0-0"), &[])]
fn the_job_set_is_created_from_the_runtime(
    #[case] runtime: Value,
    #[case] job: Value,
    #[case] pointer: &str,
    #[case] expected: Value,
    #[case] notes: &[&str],
) {
    let mut runtime = runtime;
    let node = json!({"name": "node", "volumeMounts": [{"name": "ckpt", "mountPath": "/ckpt"}]});
    runtime["template"]["spec"]["replicatedJobs"] =
        json!([{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [node]}}}}}]);
    let roles = render_on(&runtime, &job);
    assert_eq!(roles[0].pod.pointer(pointer), Some(&expected));
    assert_eq!(roles[0].notes, notes);
}

#[rstest]
#[case::without_template(json!({}), "runtime r.spec.template.spec is missing")]
#[case::without_parts(json!({"template": {"spec": {"replicatedJobs": []}}}), "runtime r.spec.template.spec.replicatedJobs is missing")]
#[case::without_containers(
    json!({"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {}}]}}}),
    "runtime r.spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers is missing"
)]
fn a_malformed_runtime_is_rejected_with_its_path(#[case] spec: Value, #[case] message: &str) {
    let runtimes = runtimes(&spec);
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"},
        "spec": {"runtimeRef": {"name": "r"}},
    });
    assert_eq!(render_with(&job, &runtimes).unwrap_err().to_string(), message);
}

#[rstest]
#[case::labeled(json!({ANCESTOR: "trainer", jobset::NAME: "j", jobset::ROLE: "node"}), true)]
#[case::plain_job_set(json!({jobset::NAME: "j", jobset::ROLE: "node"}), false)]
#[case::no_set(json!({ANCESTOR: "trainer"}), false)]
fn a_pod_is_identified_by_ancestor_and_job_set(#[case] labels: Value, #[case] expected: bool) {
    assert_eq!(identify(Pod::new(&json!({"metadata": {"labels": labels}}))).is_some(), expected);
}
