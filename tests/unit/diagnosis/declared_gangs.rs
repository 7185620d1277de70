//! Gangs of Koordinator, which the annotations of pods declare.

use rstest::rstest;
use serde_json::{Value, json};

use super::objects::{ago, rank, unscheduled, with};
use super::{check, report};

const INCOMPLETE: &str = "W GangIncomplete unknown";
const PENDING: &str = "W PodsUnschedulable unknown";

/// Returns the patch of a pod in a gang with this minimum, as `applied` by the webhook.
fn declared(minimum: &str, applied: &str) -> Value {
    json!({"metadata": {"annotations": {
        "trainmesh.dev/applied": applied,
        "gang.scheduling.koordinator.sh/name": "llama-0123456789ab",
        "gang.scheduling.koordinator.sh/min-available": minimum,
    }}, "spec": {"schedulerName": "koord-scheduler"}})
}

/// Returns the patch of a pod of this age in a gang with this minimum.
fn created(minimum: &str, age: i64) -> Value {
    with(declared(minimum, "gang=koordinator"), json!({"metadata": {"creationTimestamp": ago(age)}}))
}

/// Returns pods of this age without nodes, in a gang with this minimum.
fn waiting(pods: usize, minimum: &str, age: i64) -> Vec<Value> {
    let declared = declared(minimum, "mesh.hold,gang=koordinator");
    (0..pods).map(|index| with(with(rank(index), unscheduled(&ago(age))), declared.clone())).collect()
}

/// Returns `pods` with this patch of one of them.
fn patched(mut pods: Vec<Value>, index: usize, patch: Value) -> Vec<Value> {
    pods[index] = with(pods[index].clone(), patch);
    pods
}

#[rstest]
#[case::fewer(waiting(3, "4", 900), &[INCOMPLETE])]
#[case::a_minute_old(waiting(3, "4", 60), &[INCOMPLETE])]
#[case::younger(waiting(3, "4", 59), &[])]
#[case::one_is_younger(patched(waiting(3, "4", 120), 1, json!({"metadata": {"creationTimestamp": ago(59)}})), &[])]
#[case::complete(waiting(4, "4", 900), &[PENDING])]
#[case::minimum_of_an_older_pod(patched(waiting(3, "4", 120), 1, created("2", 121)), &[])]
#[case::minimum_of_a_younger_pod(patched(waiting(3, "4", 120), 1, created("2", 119)), &[INCOMPLETE])]
#[case::placed_before(patched(waiting(3, "4", 120), 1, json!({"spec": {"nodeName": "node-1"}})), &[])]
#[case::no_number(waiting(3, "four", 120), &[])]
#[case::annotations_of_a_user(
    (0..3).map(|index| with(with(rank(index), unscheduled(&ago(120))), declared("4", "mesh.hold"))).collect(),
    &[]
)]
fn gangs_with_too_few_pods_wait(#[case] pods: Vec<Value>, #[case] expected: &[&str]) {
    check(&pods, expected);
}

#[test]
fn pods_outside_the_gang_are_named() {
    let outside = with(rank(3), unscheduled(&ago(900)));
    let found = report(&[waiting(3, "4", 900), vec![outside]].concat()).diagnoses.remove(0);
    assert_eq!(
        found.finding.message,
        "master-0, worker-0, worker-1 wait for a gang of 4 pods, which has 3; worker-2 is not in the gang"
    );
    assert_eq!(&*found.evidence[0].field, "metadata.annotations[gang.scheduling.koordinator.sh/min-available]");
}
