//! MPI jobs.

use rstest::rstest;
use serde_json::{Value, json};

use super::check;
use super::objects::{START, ago, with};

/// Returns a pod of the job: the launcher, or worker `index`.
fn pod(role: &str, index: usize) -> Value {
    let name = format!("mpi-{role}-{index}");
    let owner = if role == "launcher" {
        json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "mpi-launcher", "controller": true}])
    } else {
        json!([{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "mpi", "controller": true}])
    };
    let mut container = json!({"name": "mpi"});
    if role == "launcher" {
        container["command"] = json!(["mpirun", "python", "train.py"]);
    } else {
        container["resources"] = json!({"limits": {"nvidia.com/gpu": 4}});
    }
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "team-a", "name": name, "creationTimestamp": START, "ownerReferences": owner,
            "labels": {"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "mpi",
                "training.kubeflow.org/job-role": role, "training.kubeflow.org/replica-index": index.to_string()}},
        "spec": {"nodeName": format!("node-{index}"), "restartPolicy": "OnFailure", "containers": [container]},
        "status": {"phase": "Running", "startTime": START,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": START}, {"type": "Ready", "status": "True", "lastTransitionTime": START}],
            "containerStatuses": [{"name": "mpi", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": START}}}]}})
}

/// Returns the job with two workers, and its Service.
fn job() -> Vec<Value> {
    let replica = |count: usize| json!({"replicas": count, "template": {"spec": {"containers": [{"name": "mpi"}]}}});
    let object = json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob",
        "metadata": {"namespace": "team-a", "name": "mpi", "creationTimestamp": START},
        "spec": {"slotsPerWorker": 4, "mpiReplicaSpecs": {"Launcher": replica(1), "Worker": replica(2)}}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "mpi"},
        "spec": {"clusterIP": "None", "selector": {"training.kubeflow.org/job-name": "mpi"}}});
    vec![pod("launcher", 0), pod("worker", 0), pod("worker", 1), object, service]
}

/// Returns the job after a change to object `index`.
fn job_with(index: usize, patch: Value) -> Vec<Value> {
    let mut objects = job();
    objects[index] = with(objects[index].clone(), patch);
    objects
}

#[rstest]
#[case::fewer(3, &[])]
#[case::same(4, &[])]
#[case::more(5, &["W SlotsExceedAccelerators no"])]
fn ranks_of_a_worker(#[case] slots: u64, #[case] expected: &[&str]) {
    check(&job_with(3, json!({"spec": {"slotsPerWorker": slots}})), expected);
}

fn not_ready(seconds: i64) -> Value {
    json!({"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ago(seconds)}]}})
}

#[rstest]
#[case::not_ready(job_with(1, not_ready(120)), &["E WorkersUnreachable unknown"])]
#[case::a_moment(job_with(1, not_ready(119)), &[])]
#[case::no_service(job_with(4, json!({"metadata": {"name": "other"}})), &["E WorkersUnreachable unknown"])]
#[case::no_services_in_the_snapshot(job()[..4].to_vec(), &[])]
fn workers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[rstest]
#[case::not_ready(job_with(1, not_ready(120)), "remove readiness probes")]
#[case::no_service(job_with(4, json!({"metadata": {"name": "other"}})), "check mpi-operator")]
fn fixes_for_workers(#[case] objects: Vec<Value>, #[case] fix: &str) {
    let found = super::report(&objects).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[test]
fn a_service_may_publish_workers_that_are_not_ready() {
    let mut objects = job_with(1, not_ready(600));
    objects[4]["spec"]["publishNotReadyAddresses"] = true.into();
    check(&objects, &[]);
}

/// Returns the patch for a worker that ran from `started` to `ended` seconds ago, and runs again since `again`.
fn restarted(started: i64, ended: i64, again: i64) -> Value {
    let last = json!({"terminated": {"exitCode": 255, "startedAt": ago(started), "finishedAt": ago(ended)}});
    json!({"status": {"containerStatuses": [{"name": "mpi", "ready": true, "restartCount": 1,
        "state": {"running": {"startedAt": ago(again)}}, "lastState": last}]}})
}

/// The job with a worker that restarted under a launcher with this command.
fn restarted_under(command: &[&str]) -> Vec<Value> {
    let mut objects = job_with(2, restarted(3600, 1900, 1860));
    objects[0]["spec"]["containers"][0]["command"] = json!(command);
    objects
}

const RESTARTED: &[&str] = &["W WorkerRestarted unknown"];

/// The daemon of the launcher is not in the new container of a worker.
#[rstest]
#[case::worker(job_with(2, restarted(3600, 1900, 1860)), RESTARTED)]
#[case::a_moment(job_with(2, restarted(3600, 100, 59)), &[])]
#[case::before_the_launcher(job_with(2, restarted(3700, 3605, 3600)), &[])]
#[case::while_the_launcher_starts(job_with(2, restarted(3600, 3571, 3500)), &[])]
#[case::all_started(job_with(2, restarted(3600, 3570, 3500)), RESTARTED)]
#[case::launcher_too([vec![with(pod("launcher", 0), restarted(3600, 1890, 1850))], job_with(2, restarted(3600, 1900, 1860))[1..].to_vec()].concat(), &[])]
#[case::mpirun(restarted_under(&["mpirun", "-n", "8", "python", "train.py"]), RESTARTED)]
#[case::elastic(restarted_under(&["horovodrun", "--min-np=1", "--host-discovery-script", "hosts.sh", "python", "train.py"]), &[])]
#[case::path(restarted_under(&["bash", "-c", "exec \"/opt/openmpi/bin/mpirun\" -n 16 python t.py | tail -n +1"]), RESTARTED)]
#[case::by_hand(restarted_under(&["sh", "-c", "sleep infinity; exit 0"]), &[])]
#[case::by_hand_for_a_year(restarted_under(&["sleep", "365d"]), &[])]
#[case::sshd(restarted_under(&["/usr/sbin/sshd", "-De"]), &[])]
#[case::script(restarted_under(&["./run.sh"]), &[])]
fn restarts_of_workers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

fn launcher_finished(seconds: i64) -> Value {
    let state = json!({"terminated": {"exitCode": 0, "startedAt": START, "finishedAt": ago(seconds)}});
    json!({"status": {"phase": "Succeeded", "containerStatuses": [{"name": "mpi", "state": state}]}})
}

fn condition(kind: &str, seconds: i64) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": ago(seconds)}]}})
}

#[rstest]
#[case::launcher(job_with(0, launcher_finished(120)), &["W WorkersLeft no"])]
#[case::a_moment(job_with(0, launcher_finished(119)), &[])]
#[case::failed(job_with(3, condition("Failed", 120)), &["W WorkersLeft no", "I JobFailed no"])]
#[case::running(job_with(3, condition("Running", 600)), &[])]
fn workers_after_the_launcher(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns launcher `index`, which failed some seconds ago.
fn failed_launcher(index: usize, seconds: i64) -> Value {
    let state = json!({"terminated": {"exitCode": 1, "startedAt": START, "finishedAt": ago(seconds)}});
    let patch = json!({"metadata": {"creationTimestamp": ago(seconds + 60)}, "spec": {"restartPolicy": "Never"},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "mpi", "state": state}]}});
    with(pod("launcher", index), patch)
}

/// Returns the Job of the launcher.
fn launcher_job(failed: u64, has_failed: bool) -> Value {
    let condition =
        json!({"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": ago(600)});
    let owner = json!([{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "mpi", "controller": true}]);
    json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "team-a", "name": "mpi-launcher", "creationTimestamp": START, "ownerReferences": owner},
        "spec": {"backoffLimit": 6}, "status": {"failed": failed, "conditions": if has_failed { json!([condition]) } else { json!([]) }}})
}

/// Returns the job with `launchers` instead of the one that runs, and more objects.
fn with_launchers(launchers: Vec<Value>, objects: Vec<Value>) -> Vec<Value> {
    [launchers, job()[1..].to_vec(), objects].concat()
}

/// Removes the Service of the job: another one exists.
fn without_service(mut objects: Vec<Value>) -> Vec<Value> {
    objects.retain(|object| object["kind"] != "Service");
    objects.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "other"}}));
    objects
}

#[rstest]
#[case::retried(with_launchers(vec![failed_launcher(0, 600), failed_launcher(1, 60)], vec![launcher_job(2, false)]), &["E LauncherFailed unknown"])]
#[case::a_moment(with_launchers(vec![failed_launcher(0, 600), failed_launcher(1, 59)], vec![launcher_job(2, false)]), &[])]
#[case::another_one_runs(with_launchers(vec![failed_launcher(0, 600), pod("launcher", 1)], vec![launcher_job(1, false)]), &[])]
#[case::limit_reached(with_launchers(vec![], vec![launcher_job(7, true)]), &["E LauncherFailed no"])]
#[case::unreachable_workers(without_service(with_launchers(vec![failed_launcher(0, 600)], vec![launcher_job(1, false)])), &["E WorkersUnreachable unknown"])]
#[case::no_workers([vec![failed_launcher(0, 600)], job()[3..].to_vec()].concat(), &[])]
fn failed_launchers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

#[test]
fn the_attempts_of_a_launcher_are_counted() {
    let objects = with_launchers(vec![failed_launcher(0, 600), failed_launcher(1, 60)], vec![launcher_job(2, false)]);
    let found = super::report(&objects).diagnoses.remove(0);
    let message = "the launcher failed (failed pods: 2, backoffLimit: 6), and 2 workers run: worker-0, worker-1";
    assert_eq!(found.finding.message, message);
    assert_eq!(found.waste.unwrap().accelerators, 8);
}

#[test]
fn a_finished_job_has_no_failed_launcher() {
    let mut objects = with_launchers(vec![failed_launcher(0, 600)], vec![launcher_job(7, true)]);
    objects[3] = with(objects[3].clone(), condition("Failed", 600));
    check(&objects, &["W WorkersLeft no", "I JobFailed no"]);
}

/// Two workers without nodes for 5 minutes wait for a gang, and there is no launcher.
fn gang(policy: &str, minimum: u64) -> Vec<Value> {
    let mut objects = job_with(3, json!({"spec": {"launcherCreationPolicy": policy}}));
    let patch = json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "mpi"}}, "spec": {"nodeName": null},
        "status": {"phase": "Pending", "startTime": null, "containerStatuses": null, "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": ago(300)}]}});
    for pod in &mut objects[1..3] {
        *pod = with(pod.clone(), patch.clone());
    }
    let group = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"namespace": "team-a", "name": "mpi", "creationTimestamp": START}, "spec": {"minMember": minimum}});
    objects[0] = group;
    objects
}

const PENDING: &str = "W PodsUnschedulable unknown";

#[rstest]
#[case::with_the_launcher(gang("WaitForWorkersReady", 3), &["E LauncherAwaitsGang no"])]
#[case::workers_only(gang("WaitForWorkersReady", 2), &[PENDING])]
#[case::at_startup(gang("AtStartup", 3), &[PENDING])]
fn launchers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns the job whose launcher has waited for a node for some seconds.
fn pending_launcher(seconds: i64) -> Vec<Value> {
    let status = json!({"phase": "Pending", "startTime": null, "containerStatuses": null, "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": ago(seconds)}]});
    job_with(0, json!({"spec": {"nodeName": null}, "status": status}))
}

/// Returns the job without a launcher; it waits for the workers.
fn without_launcher(mut objects: Vec<Value>) -> Vec<Value> {
    objects.remove(0);
    objects[2]["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady".into();
    objects
}

/// Workers hold their accelerators while there is no launcher.
#[rstest]
#[case::without_a_node(pending_launcher(300), &["E GangPartlyScheduled unknown"])]
#[case::a_node_is_searched(pending_launcher(299), &[])]
#[case::worker_not_ready(without_launcher(job_with(1, not_ready(120))), &["E LauncherAwaitsWorkers unknown"])]
#[case::worker_not_ready_for_a_moment(without_launcher(job_with(1, not_ready(119))), &[])]
#[case::worker_not_ready_at_startup(job_with(1, not_ready(120))[1..].to_vec(), &["E RankMissing unknown"])]
#[case::workers_ready(without_launcher(job()), &["E RankMissing unknown"])]
#[case::workers_ready_for_a_moment(without_launcher(job_with(2, ready(299))), &[])]
#[case::deleted_with_its_job(job()[1..].to_vec(), &["E RankMissing unknown"])]
#[case::deleted_without_its_job(with_launchers(vec![], vec![launcher_job(0, false)]), &["E RankMissing unknown"])]
#[case::finished(without_launcher(job_with(3, condition("Succeeded", 60))), &[])]
fn without_a_launcher(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

fn ready(seconds: i64) -> Value {
    json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(seconds)}]}})
}

#[test]
fn workers_wait_for_a_launcher_that_does_not_start() {
    let waiting = json!({"status": {"phase": "Pending", "containerStatuses": [
        {"name": "mpi", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}});
    for (objects, code) in [(pending_launcher(600), "GangPartlyScheduled"), (job_with(0, waiting), "ImagePullFails")] {
        let found = super::report(&objects).diagnoses.remove(0);
        assert_eq!((found.code.code(), found.waste.map(|waste| waste.accelerators)), (code, Some(8)));
        assert!(found.waste_cause().is_some(), "{code}");
    }
}
