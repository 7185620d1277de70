//! Devices and fabric profiles.

use rstest::rstest;
use serde_json::{Value, json};

use super::check;
use super::objects::{ago, job_with, node, rank, unscheduled, with};

/// Returns a node that offers an adapter.
fn node_with_adapter(count: &str) -> Value {
    with(node("node-0"), json!({"status": {"allocatable": {"rdma/ib": count}}}))
}

/// Returns a pod without a node that requests an adapter, after a change.
fn waiting(message: Option<&str>, age: i64) -> Value {
    let mut pod = with(rank(0), unscheduled(&ago(age)));
    pod["spec"]["containers"][0]["resources"]["limits"]["rdma/ib"] = 1.into();
    pod["status"]["conditions"][0]["message"] = message.into();
    pod
}

const INSUFFICIENT: Option<&str> = Some("0/1 nodes are available: 1 Insufficient rdma/ib.");
const PENDING: &str = "W PodsUnschedulable unknown";

#[rstest]
#[case::no_node(waiting(INSUFFICIENT, 600), vec![node("node-0")], &["E DeviceOnNoNode unknown"])]
#[case::offered(waiting(INSUFFICIENT, 600), vec![node_with_adapter("1")], &[PENDING])]
#[case::none_left(waiting(INSUFFICIENT, 600), vec![node_with_adapter("0")], &["E DeviceOnNoNode unknown"])]
#[case::no_nodes_in_the_snapshot(waiting(INSUFFICIENT, 600), vec![], &[PENDING])]
#[case::a_moment(waiting(INSUFFICIENT, 299), vec![node("node-0")], &[])]
#[case::class_of_devices(waiting(Some("cannot allocate all claims"), 600), vec![node("node-0")], &[PENDING])]
#[case::no_message(waiting(None, 600), vec![node("node-0")], &["E DeviceOnNoNode unknown"])]
#[case::scheduled(with(rank(0), json!({"spec": {"nodeName": "node-0"}})), vec![node("node-0")], &[])]
fn devices(#[case] pod: Value, #[case] nodes: Vec<Value>, #[case] expected: &[&str]) {
    check(&[vec![pod], nodes].concat(), expected);
}

/// Returns three ranks of which rank 1 has another revision.
fn revisions(of_job: Option<&str>, of_rank: Option<&str>) -> Vec<Value> {
    let annotated = |pod: &Value, revision: Option<&str>| {
        with(pod.clone(), json!({"metadata": {"annotations": {"trainmesh.dev/fabric-revision": revision}}}))
    };
    let pods = job_with(3, json!({}));
    pods.iter().enumerate().map(|(index, pod)| annotated(pod, if index == 1 { of_rank } else { of_job })).collect()
}

#[rstest]
#[case::same(revisions(Some("aaaaaaaaaaaa"), Some("aaaaaaaaaaaa")), &[])]
#[case::another(revisions(Some("aaaaaaaaaaaa"), Some("bbbbbbbbbbbb")), &["E FabricMixed no"])]
#[case::missing(revisions(Some("aaaaaaaaaaaa"), None), &["E FabricMixed no"])]
#[case::none(revisions(None, None), &[])]
#[case::finished(finished(), &[])]
fn profiles(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

fn finished() -> Vec<Value> {
    let mut objects = revisions(Some("aaaaaaaaaaaa"), Some("bbbbbbbbbbbb"));
    objects[1]["status"]["phase"] = "Succeeded".into();
    objects
}
