//! Suspended jobs and the quota of Kueue.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, ObjectKind, Selection, diagnose};

use super::objects::{NOW, START, ago, pytorchjob, rank, rank_of, unscheduled, with};
use super::{check, report};

/// Returns the Workload of the job.
fn workload(active: bool, conditions: Value) -> Value {
    let owner = json!([{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "llama", "controller": true}]);
    json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"namespace": "team-a", "name": "pytorchjob-llama", "ownerReferences": owner},
        "spec": {"active": active}, "status": {"conditions": conditions}})
}

fn condition(kind: &str, status: &str, reason: &str, since: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": since})
}

fn suspended(queue: bool) -> Value {
    let labels = if queue { json!({"kueue.x-k8s.io/queue-name": "team"}) } else { json!({}) };
    with(pytorchjob(1), json!({"metadata": {"labels": labels}, "spec": {"runPolicy": {"suspend": true}}}))
}

/// Returns the Workload of another job in the namespace.
fn of_another_job() -> Value {
    let owner = json!([{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "gpt", "controller": true}]);
    with(workload(true, json!([])), json!({"metadata": {"name": "pytorchjob-gpt", "ownerReferences": owner}}))
}

fn finished(kind: &str) -> Value {
    json!({"status": {"conditions": [condition(kind, "True", "R", START)]}})
}

fn cron_job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"namespace": "team-a", "name": "backup"},
        "spec": {"suspend": true, "schedule": "0 1 * * *"}})
}

#[rstest]
#[case::by_a_user(vec![suspended(false)], &["W JobSuspended no"])]
#[case::in_a_queue(vec![suspended(true)], &["I JobSuspended unknown"])]
#[case::beside_one_workload(vec![suspended(true), of_another_job()], &["I JobSuspended unknown"])]
#[case::no_quota(vec![suspended(true), workload(true, json!([condition("QuotaReserved", "False", "Pending", START)]))], &["I JobSuspended unknown"])]
#[case::no_such_queue(vec![suspended(true), workload(true, json!([condition("QuotaReserved", "False", "Inadmissible", START)]))], &["W JobSuspended no"])]
#[case::evicted(vec![suspended(true), workload(true, json!([condition("Evicted", "True", "Preempted", START)]))], &["W JobSuspended yes"])]
#[case::not_ready(vec![suspended(true), evicted("PodsReadyTimeout")], &["W JobSuspended unknown"])]
#[case::admission_check(vec![suspended(true), evicted("AdmissionCheck")], &["W JobSuspended unknown"])]
#[case::failed_node(vec![suspended(true), evicted("NodeFailures")], &["W JobSuspended unknown"])]
#[case::stopped(vec![suspended(true), evicted("ClusterQueueStopped")], &["W JobSuspended no"])]
#[case::stopped_in_its_namespace(vec![suspended(true), evicted("LocalQueueStopped")], &["W JobSuspended no"])]
#[case::inadmissible_since(vec![suspended(true), workload(true, json!([condition("Evicted", "True", "Preempted", START), condition("QuotaReserved", "False", "Inadmissible", START)]))], &["W JobSuspended no"])]
#[case::no_longer_evicted(vec![suspended(true), workload(true, json!([condition("Evicted", "False", "QuotaReserved", START)]))], &["I JobSuspended unknown"])]
#[case::deactivated(vec![suspended(true), workload(false, json!([]))], &["W JobSuspended no"])]
#[case::not_suspended(vec![pytorchjob(1)], &["I PodsNotCreated unknown"])]
#[case::succeeded(vec![with(suspended(false), finished("Succeeded"))], &[])]
#[case::failed(vec![with(suspended(true), finished("Failed"))], &["I JobFailed no"])]
#[case::not_succeeded(vec![with(suspended(false), finished("Running"))], &["W JobSuspended no"])]
#[case::schedule(vec![cron_job()], &[])]
fn suspension(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

const UNMANAGED: &str = "check that Kueue runs and manages jobs of this kind";
const UNKNOWN: &str = "read the conditions of the job's Workload";

/// The Workloads of a namespace are complete. A Job below the job may own its Workload.
#[rstest]
#[case::none("team-a", vec![suspended(true)], UNMANAGED)]
#[case::of_another_job("team-a", vec![suspended(true), of_another_job()], UNMANAGED)]
#[case::another_namespace("team-b", vec![suspended(true), of_another_job()], UNKNOWN)]
#[case::queued_a_moment_ago("team-a", vec![with(suspended(true), json!({"metadata": {"creationTimestamp": ago(59)}}))], UNKNOWN)]
#[case::of_an_object_of_the_job("team-a", vec![suspended(true), of_another_job(), below_the_job()], UNKNOWN)]
fn a_complete_list_of_workloads(#[case] namespace: &str, #[case] objects: Vec<Value>, #[case] fix: &str) {
    let mut snapshot = ClusterSnapshot::default();
    for object in &objects {
        assert!(snapshot.add(object, "default").unwrap());
    }
    snapshot.mark_complete(ObjectKind::QueueWorkload, Some(namespace));
    let found = diagnose(&snapshot, &Selection::default(), NOW.parse().unwrap()).diagnoses;
    let found = found.into_iter().find(|found| found.workload.name == "llama").unwrap();
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// Returns the job with the name of [`of_another_job`], which another one owns.
fn below_the_job() -> Value {
    let owner = json!([{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "llama", "controller": true}]);
    with(pytorchjob(1), json!({"metadata": {"name": "gpt", "ownerReferences": owner}}))
}

/// A Workload that Kueue evicted for this reason.
fn evicted(reason: &str) -> Value {
    workload(true, json!([condition("Evicted", "True", reason, START)]))
}

/// A Workload without quota, for this reason and message.
fn pending(reason: &str, message: &str) -> Value {
    let condition = with(condition("QuotaReserved", "False", reason, START), json!({"message": message}));
    workload(true, json!([condition]))
}

const ABOVE: &str = "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor h100, request > maximum capacity (32 > 16)";
const ABOVE_WITH_OTHERS: &str = "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (8) + current podset request (24) > maximum capacity (16)";
/// A flavor has enough quota when others terminate.
const ABOVE_IN_ONE: &str = "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor h100, request > maximum capacity (8 > 0), insufficient unused quota for nvidia.com/gpu in flavor a100, 1 more needed";
const FULL: &str = "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed";

#[rstest]
#[case::above("Pending", ABOVE, &["W JobSuspended no"])]
#[case::above_with_others("Pending", ABOVE_WITH_OTHERS, &["W JobSuspended no"])]
#[case::reason("ExceedsMaxQuota", "m", &["W JobSuspended no"])]
#[case::another_group_waits("Pending", &format!("{FULL}; {ABOVE}"), &["W JobSuspended no"])]
#[case::another_flavor("Pending", ABOVE_IN_ONE, &["I JobSuspended unknown"])]
#[case::another_flavor_with_the_reason("ExceedsMaxQuota", ABOVE_IN_ONE, &["I JobSuspended unknown"])]
#[case::full("Pending", FULL, &["I JobSuspended unknown"])]
fn jobs_that_exceed_the_quota(#[case] reason: &str, #[case] message: &str, #[case] expected: &[&str]) {
    check(&[suspended(true), pending(reason, message)], expected);
}

#[rstest]
#[case::above(&[suspended(true), pending("Pending", ABOVE)], "the job requests more than its queue can ever have")]
#[case::evicted(&[suspended(true), workload(true, json!([condition("Evicted", "True", "Preempted", START)]))], "free quota in the ClusterQueue")]
#[case::not_ready(&[suspended(true), evicted("PodsReadyTimeout")], "find out why the pods were not ready")]
#[case::stopped(&[suspended(true), evicted("ClusterQueueStopped")], "set spec.stopPolicy")]
#[case::another_eviction(&[suspended(true), evicted("AdmissionCheck")], "read the condition Evicted")]
#[case::waits(&[suspended(true), pending("Pending", FULL)], "free quota in the ClusterQueue")]
#[case::unknown(&[suspended(true)], "read the conditions of the job's Workload")]
#[case::without_a_queue(&[suspended(false)], "set suspend to false")]
#[case::reserved(&gated("QuotaReserved", "True"), "the job has quota: check the admission checks")]
fn fixes_fit_the_case(#[case] objects: &[Value], #[case] fix: &str) {
    let found = report(objects).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[rstest]
#[case::inadmissible(workload(true, json!([condition("QuotaReserved", "False", "Inadmissible", START)])), "Kueue cannot admit the job: m", "correct the label kueue.x-k8s.io/queue-name")]
#[case::deactivated(workload(false, json!([])), "the job is deactivated in Kueue", "read the condition Evicted")]
fn fixes_for_a_queue(#[case] workload: Value, #[case] message: &str, #[case] fix: &str) {
    let found = report(&[suspended(true), workload]).diagnoses.remove(0);
    assert_eq!(found.finding.message, message);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// Two pods that Kueue holds by a gate, and their Workload in queue `gpu`.
fn gated(reason: &str, status: &str) -> Vec<Value> {
    let gate = json!({"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}});
    let pods = (0..2).map(|index| with(with(rank(index), unscheduled(&ago(900))), gate.clone()));
    let workload = workload(true, json!([condition("QuotaReserved", status, reason, START)]));
    pods.chain([with(workload, json!({"spec": {"queueName": "gpu"}}))]).collect()
}

#[rstest]
#[case::no_quota(gated("Pending", "False"), "I PodsGated unknown", "the job waits for quota in Kueue's queue gpu")]
#[case::no_such_queue(gated("Inadmissible", "False"), "W PodsGated no", "Kueue cannot admit the job: m")]
#[case::admitted(gated("QuotaReserved", "True"), "W PodsGated unknown", "Kueue has reserved quota for the job")]
fn gates_of_kueue(#[case] objects: Vec<Value>, #[case] expected: &str, #[case] message: &str) {
    check(&objects, &[expected]);
    let found = report(&objects).diagnoses.remove(0);
    let start = "master-0, worker-0 are held by the scheduling gate kueue.x-k8s.io/admission: ";
    assert_eq!(found.finding.message, format!("{start}{message}"));
}

/// Two pods without a job that Kueue holds as the group `pg`, and its Workload, which they own together.
fn gated_group(group: &str) -> Vec<Value> {
    let mut objects = gated("Inadmissible", "False");
    for pod in &mut objects[..2] {
        pod["metadata"]["labels"] = json!({"kueue.x-k8s.io/pod-group-name": group});
        *pod = with(pod.clone(), json!({"metadata": {"ownerReferences": null}}));
    }
    let owner = |pod: &Value| json!({"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"]});
    let owners: Vec<Value> = objects[..2].iter().map(owner).collect();
    objects[2] = with(objects[2].clone(), json!({"metadata": {"name": "pg", "ownerReferences": owners}}));
    objects
}

#[rstest]
#[case::own(gated_group("pg"), &["W PodsGated no", "W PodsGated no"])]
#[case::of_another_group(gated_group("other"), &["I PodsGated unknown", "I PodsGated unknown"])]
fn gates_of_a_group_of_pods(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns the Workload with quota and these admission checks.
fn with_checks(status: &str, checks: Value) -> Value {
    let workload = workload(true, json!([condition("QuotaReserved", status, "QuotaReserved", START)]));
    with(workload, json!({"status": {"admissionChecks": checks}}))
}

fn admission_check(name: &str, state: &str) -> Value {
    json!({"name": name, "state": state, "message": "waiting for ProvisioningRequest", "lastTransitionTime": START})
}

const RESERVED: &str = "Kueue has reserved quota for the job";

#[rstest]
#[case::pending(with_checks("True", json!([admission_check("prov", "Pending"), admission_check("other", "Ready")])), ", and the admission check prov has not succeeded", Some("Pending: waiting for ProvisioningRequest"))]
#[case::several(with_checks("True", json!([admission_check("a", "Pending"), admission_check("b", "Retry")])), ", and the admission checks a, b have not succeeded", Some("Pending: waiting for ProvisioningRequest"))]
#[case::ready(with_checks("True", json!([admission_check("prov", "Ready")])), "", None)]
#[case::none(with_checks("True", json!([])), "", None)]
#[case::malformed(with_checks("True", json!([{"name": "prov"}, 7])), "", None)]
fn admission_checks_are_named(#[case] workload: Value, #[case] message: &str, #[case] value: Option<&str>) {
    let objects = [suspended(true), workload];
    check(&objects, &["W JobSuspended unknown"]);
    let found = report(&objects).diagnoses.remove(0);
    assert_eq!(found.finding.message, format!("{RESERVED}{message}"));
    let first = found.evidence.iter().find(|evidence| evidence.field.starts_with("status.admissionChecks["));
    assert_eq!(first.map(|evidence| &*evidence.value), value);
    let fix = if value.is_some() {
        "the job has quota: read the admission check"
    } else {
        "the job has quota: check the admission"
    };
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    assert!(found.recovery.reason().starts_with("Kueue starts it"), "{found:?}");
}

/// Kueue checks a job that waits for quota only later.
#[test]
fn checks_of_a_job_without_quota_are_no_evidence() {
    let found = report(&[suspended(true), with_checks("False", json!([admission_check("prov", "Pending")]))])
        .diagnoses
        .remove(0);
    assert!(found.evidence.iter().all(|evidence| !evidence.field.contains("admissionChecks")), "{found:?}");
}

#[test]
fn a_job_is_suspended() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "team-a", "name": "a"}, "spec": {"suspend": true}});
    check(&[job], &["W JobSuspended no"]);
}

/// `vcctl job suspend` sets no field.
#[test]
fn a_job_of_volcano_is_suspended() {
    check(&[volcano_job("Aborted")], &["W JobSuspended no"]);
    let found = report(&[volcano_job("Aborted")]).diagnoses.remove(0);
    assert_eq!((&*found.evidence[0].field, &*found.evidence[0].value), ("status.state.phase", "Aborted"));
    assert!(found.finding.fix.unwrap().contains("vcctl job resume"), "{found:?}");
}

fn admitted(seconds: i64) -> Value {
    condition("Admitted", "True", "Admitted", &ago(seconds))
}

#[rstest]
#[case::no_pods(workload(true, json!([admitted(600)])), vec![rank_of("gpt", 0)], &["W QuotaHeld unknown"])]
#[case::just_admitted(workload(true, json!([admitted(599)])), vec![rank_of("gpt", 0)], &[])]
#[case::finished(workload(true, json!([admitted(600), condition("Finished", "True", "Succeeded", START)])), vec![rank_of("gpt", 0)], &[])]
#[case::pods_run(workload(true, json!([admitted(600)])), vec![rank(0), rank(1)], &[])]
#[case::pods_not_in_the_snapshot(workload(true, json!([admitted(600)])), vec![], &["I PodsNotCreated unknown"])]
fn idle_quota(#[case] workload: Value, #[case] pods: Vec<Value>, #[case] expected: &[&str]) {
    check(&[vec![pytorchjob(1), workload], pods].concat(), expected);
}

fn volcano_job(phase: &str) -> Value {
    let containers = json!([{"name": "a", "image": "i"}]);
    json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "enq", "creationTimestamp": START},
        "spec": {"tasks": [{"name": "worker", "replicas": 2, "template": {"spec": {"containers": containers}}}]},
        "status": {"state": {"phase": phase}}})
}

fn volcano_group() -> Value {
    let owner = json!([{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "enq", "controller": true}]);
    json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "enq-1", "creationTimestamp": START, "ownerReferences": owner},
        "spec": {"minMember": 2},
        "status": {"phase": "Pending", "conditions": [condition("Unschedulable", "True", "NotEnoughResources", START)]}})
}

fn of_type(kind: &str, since: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": since}]}})
}

/// A job without pods, beside a pod of another one, by which the pods of the namespace are known.
#[rstest]
#[case::operator_down(vec![pytorchjob(1)], &["W PodsNotCreated unknown"])]
#[case::created_only(vec![with(pytorchjob(1), of_type("Created", START))], &["W PodsNotCreated unknown"])]
#[case::new(vec![with(pytorchjob(1), json!({"metadata": {"creationTimestamp": ago(599)}}))], &[])]
#[case::resumed(vec![with(pytorchjob(1), of_type("Resumed", &ago(599)))], &[])]
#[case::long_resumed(vec![with(pytorchjob(1), of_type("Resumed", &ago(600)))], &["W PodsNotCreated unknown"])]
#[case::runs(vec![with(pytorchjob(1), of_type("Running", START))], &[])]
#[case::succeeded(vec![with(pytorchjob(1), of_type("Succeeded", START))], &[])]
#[case::deleted(vec![with(pytorchjob(1), json!({"metadata": {"deletionTimestamp": START}}))], &[])]
#[case::elsewhere(vec![with(pytorchjob(1), json!({"spec": {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}}))], &["I PodsNotCreated unknown"])]
#[case::usual_manager(vec![with(pytorchjob(1), json!({"spec": {"runPolicy": {"managedBy": "kubeflow.org/training-operator"}}}))], &["W PodsNotCreated unknown"])]
#[case::queued(vec![volcano_job("Pending"), volcano_group()], &["I PodsNotCreated unknown"])]
#[case::admitted(vec![volcano_job("Pending"), with(volcano_group(), json!({"status": {"phase": "Inqueue"}}))], &["W PodsNotCreated unknown"])]
#[case::no_group(vec![volcano_job("Pending")], &["W PodsNotCreated unknown"])]
#[case::completed(vec![volcano_job("Completed")], &[])]
#[case::schedule(vec![with(cron_job(), json!({"metadata": {"creationTimestamp": START}, "spec": {"suspend": false}}))], &[])]
fn jobs_without_pods(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&[objects, vec![rank_of("gpt", 0)]].concat(), expected);
}

#[test]
fn a_queued_job_has_the_condition_of_its_group() {
    let found = report(&[volcano_job("Pending"), volcano_group(), rank_of("gpt", 0)]).diagnoses.remove(0);
    assert_eq!(
        found.finding.message,
        "the job has no pods: they are created when its PodGroup is admitted, which is Pending"
    );
    let first = &found.evidence[0];
    assert_eq!((&*first.object, &*first.value), ("PodGroup team-a/enq-1", "NotEnoughResources: m"));
    let fix = found.fix().unwrap();
    assert!(fix.ends_with("kubectl -n team-a describe podgroup.scheduling.volcano.sh enq-1"), "{fix}");
}

/// The Job controller is a part of kube-controller-manager.
#[rstest]
#[case::job("batch/v1", "Job", "the Job controller has not created the pods of the job", "kube-controller-manager")]
#[case::operator("kubeflow.org/v1", "PyTorchJob", "its operator has not created the pods of the job", "the operator")]
fn who_creates_the_pods(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] message: &str,
    #[case] controller: &str,
) {
    let metadata = json!({"namespace": "team-a", "name": "a", "creationTimestamp": START});
    let template = json!({"spec": {"containers": [{"name": "pytorch", "image": "i"}]}});
    let spec = json!({"parallelism": 2, "template": template,
        "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}});
    let job = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
    let found = report(&[job, rank_of("gpt", 0)]).diagnoses.remove(0);
    assert_eq!((found.code.code(), &*found.finding.message), ("PodsNotCreated", message));
    assert!(found.fix().unwrap().contains(&format!("check that {controller}")), "{found:?}");
}

/// The pods may be missing in the input.
#[rstest]
#[case::unknown(pytorchjob(1), &["I PodsNotCreated unknown"])]
#[case::runs(with(pytorchjob(1), of_type("Running", START)), &[])]
fn inputs_without_pods(#[case] job: Value, #[case] expected: &[&str]) {
    check(&[job], expected);
}

/// An object of the job counts pods that the input lacks.
#[rstest]
#[case::none(0, 0, &["I PodsNotCreated unknown"])]
#[case::job_below_it(0, 4, &[])]
#[case::job_set(1, 0, &[])]
fn a_job_set_without_pods(#[case] jobs: u64, #[case] pods: u64, #[case] expected: &[&str]) {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "i"}]}});
    let spec = json!({"parallelism": 4, "completions": 4, "template": template});
    let job_set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"namespace": "team-a", "name": "js", "creationTimestamp": START},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": spec}}]},
        "status": {"replicatedJobsStatus": [{"name": "w", "active": jobs}]}});
    let owner = json!([{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "js", "controller": true}]);
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "js-w-0", "creationTimestamp": START, "ownerReferences": owner},
        "spec": spec, "status": {"active": pods}});
    check(&[job_set, job], expected);
}
