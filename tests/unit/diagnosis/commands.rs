//! Commands in fixes.

use rstest::rstest;
use serde_json::{Value, json};

use super::mesh::outlived;
use super::objects::{ago, job_with, main_status, rank, unscheduled, with};
use super::{crash::crash_loop, report};

/// Returns the fix of the first finding about `objects`.
fn fix(objects: &[Value]) -> String {
    report(objects).diagnoses[0].fix().unwrap()
}

/// Pasted without it, the command would act on the namespace of the context.
#[test]
fn sweep_names_the_namespace() {
    assert!(fix(&[outlived()]).contains("trainmesh sweep -n team-a --apply"));
}

#[test]
fn the_first_of_several_pods_is_named() {
    let crashes = crash_loop(3, "Error", 1);
    let mut pods = job_with(3, crashes.clone());
    pods[0] = with(pods[0].take(), crashes);
    let fix = fix(&pods);
    assert!(fix.contains("kubectl -n team-a logs llama-master-0 --previous"), "{fix}");
}

/// The log of a container that has not restarted is the current one.
#[test]
fn a_container_without_restarts_has_no_previous_log() {
    let ended = json!({"exitCode": 1, "startedAt": ago(600), "finishedAt": ago(300)});
    let status = main_status(json!({"restartCount": 3, "state": {"terminated": ended}}));
    let fix = fix(&[rank(0), with(rank(1), status)]);
    assert!(fix.contains("kubectl -n team-a logs llama-worker-0"), "{fix}");
    assert!(!fix.contains("llama-worker-0 --previous"), "{fix}");
}

#[rstest]
#[case::named("persistentvolumeclaim \"data\" not found", "kubectl -n team-a describe pvc data;")]
#[case::unknown("pod has unbound immediate PersistentVolumeClaims", "kubectl -n team-a describe pvc;")]
#[case::command("persistentvolumeclaim \"a;reboot\" not found", "kubectl -n team-a describe pvc;")]
fn a_claim_is_described(#[case] message: &str, #[case] command: &str) {
    let mut pod = with(rank(0), unscheduled(&ago(900)));
    pod["status"]["conditions"][0]["message"] = format!("0/4 nodes are available: {message}.").into();
    let fix = fix(&[pod]);
    assert!(fix.contains(command), "{fix}");
}

/// A dump may contain anything, and a shell would interpret it.
#[rstest]
#[case::command("a;reboot")]
#[case::flag("-A")]
#[case::substitution("$(reboot)")]
fn names_that_a_shell_interprets_are_left_out(#[case] name: &str) {
    let crash = with(rank(0), crash_loop(3, "Error", 1));
    let fix_of = |metadata: Value| fix(&[with(crash.clone(), json!({"metadata": metadata}))]);
    assert!(fix_of(json!({"name": name})).contains("kubectl -n team-a logs POD --previous"));
    assert!(fix_of(json!({"namespace": name})).contains(": kubectl logs --previous"));
}
