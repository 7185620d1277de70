//! Pods that cannot be created: only events show it.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{ago, event, pytorchjob, rank, with};
use super::{check, report};

const QUOTA: &str = "pods \"llama-worker-0\" is forbidden: exceeded quota: gpus";
const DENIED: &str = "admission webhook \"policy.example.com\" denied the request";

const UNANSWERED: &str = "Internal error occurred: failed calling webhook \"inject.trainmesh.dev\": failed to call webhook: Post \
    \"https://trainmesh-webhook.trainmesh-system.svc:443/mutate\": no endpoints available for service \"trainmesh-webhook\"";
const NO_ACCOUNT: &str =
    "pods \"x\" is forbidden: error looking up service account team-a/x: serviceaccount \"x\" not found";
const POD_SECURITY: &str = "pods \"llama-master-0\" is forbidden: violates PodSecurity \"baseline:latest\": non-default capabilities \
    (container \"pytorch\" must not include \"IPC_LOCK\" in securityContext.capabilities.add)";

fn failure(kind: &str, message: &str, seconds: i64) -> Value {
    event(kind, "llama", "FailedCreate", message, seconds)
}

#[rstest]
#[case::quota(vec![pytorchjob(3)], failure("PyTorchJob", QUOTA, 60), &["E PodCreationFails unknown"])]
#[case::webhook(vec![pytorchjob(3)], failure("PyTorchJob", DENIED, 60), &["E PodCreationFails no"])]
#[case::unanswered(vec![pytorchjob(3)], failure("PyTorchJob", UNANSWERED, 60), &["E PodCreationFails unknown"])]
#[case::no_account(vec![pytorchjob(3)], failure("PyTorchJob", NO_ACCOUNT, 60), &["E PodCreationFails no"])]
#[case::some_exist(vec![pytorchjob(3), rank(0)], failure("PyTorchJob", QUOTA, 60), &["E PodCreationFails unknown"])]
#[case::all_exist(vec![pytorchjob(1), rank(0), rank(1)], failure("PyTorchJob", QUOTA, 60), &[])]
#[case::created_since(vec![pytorchjob(3), with(rank(0), json!({"metadata": {"creationTimestamp": ago(30)}}))], failure("PyTorchJob", QUOTA, 60), &[])]
#[case::long_ago(vec![pytorchjob(3)], failure("PyTorchJob", QUOTA, 1800), &["I PodsNotCreated unknown"])]
#[case::another_job(vec![pytorchjob(3)], event("PyTorchJob", "gpt", "FailedCreate", QUOTA, 60), &["I PodsNotCreated unknown"])]
#[case::another_reason(vec![pytorchjob(3)], event("PyTorchJob", "llama", "SuccessfulCreatePod", "", 60), &["I PodsNotCreated unknown"])]
fn failures_to_create_pods(#[case] mut objects: Vec<Value>, #[case] event: Value, #[case] expected: &[&str]) {
    objects.push(event);
    check(&objects, expected);
}

#[rstest]
#[case::own(UNANSWERED, "webhook inject.trainmesh.dev did not answer", "run trainmesh doctor")]
#[case::another(&UNANSWERED.replace("inject.trainmesh.dev", "sidecar.istio.io"), "webhook sidecar.istio.io did not answer", "read the message, and check the pods")]
#[case::similar_name(&UNANSWERED.replace("inject.trainmesh.dev", "trainmesh.dev.example.com"), "webhook trainmesh.dev.example.com did not answer", "read the message, and check the pods")]
#[case::service_account(NO_ACCOUNT, "their ServiceAccount does not exist", "create the ServiceAccount")]
#[case::quota(QUOTA, "the quota is used up", "read the message: raise the quota")]
#[case::pod_security(POD_SECURITY, "the Pod Security level forbids the pod", "correct the fields in the message")]
#[case::denied(DENIED, "the apiserver denied the pod", "read the message: raise the quota")]
fn the_cause_decides_the_fix(#[case] text: &str, #[case] cause: &str, #[case] fix: &str) {
    let found = report(&[pytorchjob(3), failure("PyTorchJob", text, 60)]).diagnoses.remove(0);
    assert_eq!(found.finding.message, format!("no pod of the job can be created: {cause}"));
    assert!(found.finding.fix.is_some_and(|found| found.starts_with(fix)), "{found:?}");
}

/// The other rank does not exist.
#[test]
fn the_only_pod_waits_for_the_others() {
    let found = report(&[pytorchjob(1), rank(0), failure("PyTorchJob", QUOTA, 60)]).diagnoses.remove(0);
    assert_eq!(found.waste.map(|waste| waste.accelerator_seconds), Some(8 * 3600));
}

/// The event is about the Job that a `JobSet` owns.
#[test]
fn an_owned_object_has_the_event() {
    let jobset = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"namespace": "team-a", "name": "set"},
        "spec": {"replicatedJobs": []}});
    let owner =
        json!([{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "controller": true}]);
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "set-workers-0", "ownerReferences": owner}, "spec": {}});
    let objects = [jobset, job, event("Job", "set-workers-0", "FailedCreate", DENIED, 60)];
    check(&objects, &["E PodCreationFails no"]);
    let report = report(&objects);
    assert_eq!(report.diagnoses[0].workload.to_string(), "JobSet team-a/set");
}

/// A request above the whole quota never fits.
#[rstest]
#[case::used("requests.nvidia.com/gpu=8", "requests.nvidia.com/gpu=16", "E PodCreationFails unknown")]
#[case::too_small("requests.nvidia.com/gpu=32", "requests.nvidia.com/gpu=16", "E PodCreationFails no")]
#[case::one_of_two("cpu=1500m,memory=1Gi", "cpu=1,memory=2Gi", "E PodCreationFails no")]
#[case::equal("cpu=1000m,memory=1Gi", "cpu=1,memory=1024Mi", "E PodCreationFails unknown")]
#[case::other_resources("cpu=9", "pods=4", "E PodCreationFails unknown")]
fn quotas(#[case] requested: &str, #[case] limited: &str, #[case] expected: &str) {
    let message = format!("{QUOTA}, requested: {requested}, used: requests.nvidia.com/gpu=0, limited: {limited}");
    let failure = event("PyTorchJob", "llama", "FailedCreatePod", &message, 60);
    let found = super::findings(&[rank(0), pytorchjob(1), failure]);
    assert!(found.contains(&expected.to_owned()), "{found:?}");
}
