//! Ranks that completed while others run.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{START, ago, main_status, pytorchjob, rank, unscheduled, with};
use super::{check, report};

/// Exit of a main container with this code, `seconds` ago.
fn exit(code: i64, seconds: i64) -> Value {
    let end = json!({"terminated": {"exitCode": code, "reason": "Completed", "startedAt": START, "finishedAt": ago(seconds)}});
    main_status(json!({"state": end}))
}

/// A pod that completed.
fn succeeded(seconds: i64) -> Value {
    with(exit(0, seconds), json!({"status": {"phase": "Succeeded"}}))
}

/// A job of a master and three workers with these changes.
fn ranks(patches: [Value; 4]) -> Vec<Value> {
    patches.into_iter().enumerate().map(|(index, patch)| with(rank(index), patch)).collect()
}

fn runs() -> Value {
    json!({})
}

/// A job of which worker 0 completed, and worker 1 has this change.
fn beside(patch: Value) -> Vec<Value> {
    ranks([runs(), succeeded(600), patch, runs()])
}

/// Adds an object, or a pod, to the job.
fn and(mut objects: Vec<Value>, object: Value) -> Vec<Value> {
    objects.push(object);
    objects
}

/// Applies a change to all pods.
fn all(pods: Vec<Value>, patch: &Value) -> Vec<Value> {
    pods.into_iter().map(|pod| with(pod, patch.clone())).collect()
}

fn job(status: Value) -> Value {
    with(pytorchjob(3), status)
}

fn condition(kind: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "R", "lastTransitionTime": ago(60)}]}})
}

fn env(variables: &[(&str, &str)]) -> Value {
    let variables: Vec<Value> = variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"spec": {"containers": [{"name": "pytorch", "image": "i", "env": variables}]}})
}

const FOUND: &[&str] = &["W RankCompletedEarly unknown"];

#[rstest]
#[case::succeeded(beside(runs()), FOUND)]
#[case::main_container_only(ranks([runs(), exit(0, 300), runs(), runs()]), FOUND)]
#[case::a_moment(ranks([runs(), succeeded(299), runs(), runs()]), &[])]
#[case::one_straggler(ranks([succeeded(600), succeeded(600), runs(), succeeded(590)]), FOUND)]
#[case::master(ranks([succeeded(600), runs(), runs(), runs()]), FOUND)]
#[case::rank_0_saves(ranks([runs(), succeeded(600), succeeded(600), succeeded(600)]), &[])]
#[case::rank_0_by_its_variable(
    ranks([succeeded(600), succeeded(600), env(&[("RANK", "0")]), succeeded(600)]),
    &[]
)]
#[case::all_completed(ranks([succeeded(600), succeeded(600), succeeded(600), succeeded(600)]), &[])]
#[case::running_job(and(beside(runs()), job(condition("Running"))), FOUND)]
#[case::completed_job(and(beside(runs()), job(condition("Succeeded"))), &[])]
#[case::suspended_job(and(beside(runs()), job(json!({"spec": {"runPolicy": {"suspend": true}}}))), &["W JobSuspended no"])]
#[case::deleted_job(and(beside(runs()), job(json!({"metadata": {"deletionTimestamp": ago(5)}}))), &[])]
#[case::is_being_deleted(ranks([runs(), with(succeeded(600), json!({"metadata": {"deletionTimestamp": ago(5)}})), runs(), runs()]), &[])]
#[case::peers_are_being_deleted(
    ranks([succeeded(600), succeeded(600), json!({"metadata": {"deletionTimestamp": ago(5)}}), succeeded(600)]),
    &[]
)]
#[case::failed(ranks([runs(), with(exit(1, 600), json!({"spec": {"restartPolicy": "Never"}})), runs(), runs()]), &["E RankFailed unknown"])]
#[case::restarted_by_the_kubelet(ranks([runs(), with(exit(0, 600), json!({"spec": {"restartPolicy": "Always"}})), runs(), runs()]), &[])]
#[case::a_peer_has_not_started(beside(unscheduled(&ago(700))), &["E GangPartlyScheduled unknown"])]
#[case::a_peer_started_later(
    beside(with(json!({"metadata": {"creationTimestamp": ago(500)}}), main_status(json!({"state": {"running": {"startedAt": ago(500)}}})))),
    &[]
)]
#[case::evicted(
    ranks([runs(), with(succeeded(600), json!({"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}})), runs(), runs()]),
    &[]
)]
fn pytorchjobs(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Ranks of elastic jobs, and those of one node each, may complete at any time.
#[rstest]
#[case::elastic("2:4", &[])]
#[case::below_the_minimum("4:5", &[])]
#[case::fixed("4", FOUND)]
#[case::one_node_each("1", &[])]
fn numbers_of_nodes(#[case] nodes: &str, #[case] expected: &[&str]) {
    let mut pods = beside(runs());
    for pod in &mut pods {
        pod["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": nodes}]);
    }
    check(&pods, expected);
}

/// Labels and owner of the pods of another kind, which have the role and index of the PyTorchJob's workers.
fn of_kind(pods: Vec<Value>, labels: impl Fn(usize) -> Value, owner: (&str, &str)) -> Vec<Value> {
    let (api_version, kind) = owner;
    let change = |(index, mut pod): (usize, Value)| {
        pod["metadata"]["labels"] = labels(index);
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": api_version, "kind": kind, "name": "llama", "controller": true}]);
        pod
    };
    pods.into_iter().enumerate().map(change).collect()
}

fn indexed(pods: Vec<Value>) -> Vec<Value> {
    let labels = |index: usize| json!({"batch.kubernetes.io/job-name": "llama", "batch.kubernetes.io/job-completion-index": index.to_string()});
    of_kind(pods, labels, ("batch/v1", "Job"))
}

fn volcano(pods: Vec<Value>) -> Vec<Value> {
    let labels = |index: usize| json!({"volcano.sh/job-name": "llama", "volcano.sh/task-spec": "worker", "volcano.sh/task-index": index.to_string()});
    of_kind(pods, labels, ("batch.volcano.sh/v1alpha1", "Job"))
}

fn job_set(pods: Vec<Value>, roles: [&str; 4]) -> Vec<Value> {
    let labels = |index: usize| {
        json!({"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/replicatedjob-name": roles[index],
            "jobset.sigs.k8s.io/replicatedjob-replicas": "1", "batch.kubernetes.io/job-completion-index": index.to_string()})
    };
    of_kind(pods, labels, ("batch/v1", "Job"))
}

fn of_operator(pods: Vec<Value>, operator: &str, kind: &str, roles: [&str; 4]) -> Vec<Value> {
    let labels = |index: usize| {
        json!({"training.kubeflow.org/operator-name": operator, "training.kubeflow.org/job-name": "llama",
            "training.kubeflow.org/replica-type": roles[index], "training.kubeflow.org/job-role": roles[index],
            "training.kubeflow.org/replica-index": index.to_string()})
    };
    of_kind(pods, labels, ("kubeflow.org/v1", kind))
}

const ADDRESS: &[(&str, &str)] = &[("MASTER_ADDR", "llama-0")];
const WORKERS: [&str; 4] = ["worker"; 4];

/// The pods of other kinds are a group only if their fields show it.
#[rstest]
#[case::independent_indexes(indexed(beside(runs())), &[])]
#[case::headless_service(all(indexed(beside(runs())), &json!({"spec": {"subdomain": "llama"}})), FOUND)]
#[case::service_of_volcano(all(volcano(beside(runs())), &json!({"spec": {"subdomain": "llama"}})), &[])]
#[case::volcano(all(volcano(beside(runs())), &env(ADDRESS)), FOUND)]
#[case::address(all(indexed(beside(runs())), &env(ADDRESS)), FOUND)]
#[case::rendezvous(all(indexed(beside(runs())), &env(&[("PET_RDZV_ENDPOINT", "llama-0.llama:29400")])), FOUND)]
#[case::local_address(all(job_set(beside(runs()), WORKERS), &env(&[("MASTER_ADDR", "localhost")])), &[])]
#[case::local_rendezvous(all(indexed(beside(runs())), &env(&[("PET_RDZV_ENDPOINT", "[::1]:29400")])), &[])]
#[case::standalone(all(indexed(beside(runs())), &env(&[ADDRESS[0], ("PET_STANDALONE", "1")])), &[])]
#[case::job_set_without_address(all(job_set(beside(runs()), WORKERS), &json!({"spec": {"subdomain": "llama"}})), &[])]
#[case::job_set(all(job_set(beside(runs()), WORKERS), &env(ADDRESS)), FOUND)]
#[case::another_role(all(job_set(beside(runs()), ["worker", "evaluate", "worker", "worker"]), &env(ADDRESS)), &[])]
#[case::tensorflow(of_operator(beside(runs()), "tfjob-controller", "TFJob", WORKERS), FOUND)]
#[case::evaluator(of_operator(beside(runs()), "tfjob-controller", "TFJob", ["worker", "evaluator", "worker", "worker"]), &[])]
#[case::parameter_server(of_operator(beside(runs()), "tfjob-controller", "TFJob", ["worker", "worker", "worker", "ps"]), &[])]
#[case::mpi_workers(of_operator(beside(runs()), "mpi-operator", "MPIJob", WORKERS), &[])]
fn kinds(#[case] pods: Vec<Value>, #[case] expected: &[&str]) {
    check(&pods, expected);
}

/// A finding names the rank, when it completed, and how many others run. Whether these wait yet is not known.
#[test]
fn the_rank_is_named() {
    let found = report(&beside(runs())).diagnoses.remove(0);
    assert_eq!(found.finding.message, "worker-0 completed, and 3 other ranks run: master-0, worker-1, worker-2");
    let evidence: Vec<_> =
        found.evidence.iter().map(|evidence| (&*evidence.object, &*evidence.field, &*evidence.value)).collect();
    let expected = [
        ("PyTorchJob team-a/llama", "ranks that run", "3 of 4"),
        ("Pod team-a/llama-worker-0", "status.containerStatuses[pytorch].state.terminated", "exit code 0 (Completed)"),
    ];
    assert_eq!(evidence, expected);
    assert_eq!(found.evidence[1].time.map(|time| time.to_string()), Some(ago(600)));
    assert_eq!(found.waste, None);
    assert!(found.fix().unwrap().contains("kubectl -n team-a logs llama-worker-0"), "{found:?}");
}
