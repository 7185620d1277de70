//! Changes between the diagnoses of a watch.

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, Diagnosis, DiagnosisReport, Selection, diagnose};

use super::objects::{NOW, ago, job_with, main_status, rank_of, waiting, with};

fn report(pods: &[Value], seconds_later: i64) -> DiagnosisReport {
    let mut snapshot = ClusterSnapshot::default();
    for pod in pods {
        assert!(snapshot.add(pod, "default").unwrap());
    }
    let now: Timestamp = NOW.parse().unwrap();
    diagnose(&snapshot, &Selection::default(), now + SignedDuration::from_secs(seconds_later))
}

fn pulls(job: &str, message: &str) -> Value {
    with(rank_of(job, 0), waiting("ImagePullBackOff", message))
}

fn crashes(job: &str, restarts: u64) -> Value {
    let last = json!({"terminated": {"exitCode": 1, "finishedAt": ago(600)}});
    let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    with(rank_of(job, 0), main_status(json!({"restartCount": restarts, "lastState": last, "state": state})))
}

/// Returns a pod whose init container has another image that cannot be pulled.
fn pulls_two(job: &str) -> Value {
    let status = json!([{"name": "init", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]);
    let init = json!([{"name": "init", "image": "registry/init:1"}]);
    with(pulls(job, ""), json!({"spec": {"initContainers": init}, "status": {"initContainerStatuses": status}}))
}

#[rstest]
#[case::none(vec![pulls("a", "")], vec![pulls("a", "")], &[], &[], &[])]
#[case::new_workload(vec![pulls("a", "")], vec![pulls("a", ""), pulls("b", "")], &["b ImagePullFails"], &[], &[])]
#[case::gone(vec![pulls("a", ""), pulls("b", "")], vec![pulls("b", "")], &[], &[], &["a ImagePullFails"])]
#[case::another_code(vec![pulls("a", "")], vec![crashes("a", 9)], &["a CrashLoop"], &[], &["a ImagePullFails"])]
#[case::severity(vec![crashes("a", 1)], vec![crashes("a", 9)], &[], &["a CrashLoop"], &[])]
#[case::recovery(vec![pulls("a", "")], vec![pulls("a", "manifest unknown")], &[], &["a ImagePullFails"], &[])]
#[case::one_of_two(vec![pulls_two("a")], vec![pulls("a", "")], &[], &[], &["a ImagePullFails"])]
#[case::a_second_one(vec![pulls("a", "")], vec![pulls_two("a")], &["a ImagePullFails"], &[], &[])]
fn findings_are_compared(
    #[case] earlier: Vec<Value>,
    #[case] later: Vec<Value>,
    #[case] appeared: &[&str],
    #[case] changed: &[&str],
    #[case] resolved: &[&str],
) {
    let (earlier, later) = (report(&earlier, 0), report(&later, 30));
    let changes = later.changes_since(&earlier);
    let names = |found: &[&Diagnosis]| -> Vec<String> {
        found.iter().map(|found| format!("{} {}", found.workload.name, found.code.code())).collect()
    };
    assert_eq!(names(&changes.appeared), appeared);
    assert_eq!(names(&changes.changed), changed);
    assert_eq!(names(&changes.resolved), resolved);
    assert_eq!(changes.is_empty(), appeared.len() + changed.len() + resolved.len() == 0);
}

#[test]
fn the_cost_of_a_finding_is_no_change() {
    // Later, the second job has cost more than the first.
    let late =
        json!({"status": {"conditions": null, "startTime": ago(60)}, "metadata": {"creationTimestamp": ago(60)}});
    let large = job_with(4, waiting("ImagePullBackOff", "")).into_iter().map(|pod| with(pod, late.clone()));
    let both: Vec<Value> = [pulls("a", "")].into_iter().chain(large).collect();
    let (earlier, later) = (report(&both, 0), report(&both, 100_000));
    assert_ne!(earlier.diagnoses[0].workload, later.diagnoses[0].workload);
    assert!(later.changes_since(&earlier).is_empty());
}
