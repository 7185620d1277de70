//! Findings about nodes.

use super::*;

#[tokio::test]
async fn a_device_that_no_node_offers() {
    let objects =
        || vec![(PODS, list(&pods())), (GROUPS, list(&[group("llama", 2, &[])])), (JOBS, list(&[job("llama", 2)]))];
    let (found, unread) = findings(objects(), &[node("node-1", "nvidia.com/gpu")]).await;
    assert_eq!(found, ["DeviceOnNoNode on Pod llama-worker-0"]);
    assert_eq!(unread, [""; 0]);
    let found = findings(objects(), &[node("node-1", "rdma/ib")]).await.0;
    assert_eq!(found, ["PodsUnschedulable on Pod llama-worker-0"]);
}

/// The watch of nodes may lag behind: a node that a pod names is requested before it counts as absent.
#[tokio::test]
async fn a_node_is_absent_only_if_a_request_confirms_it() {
    let running = [0, 1].map(|index| running(index, "node-2"));
    let objects = |nodes: &[Value]| {
        let groups = list(&[group("llama", 2, &[])]);
        vec![(PODS, list(&running)), (GROUPS, groups), (JOBS, list(&[job("llama", 2)])), (NODES, list(nodes))]
    };
    let known = [node("node-1", "rdma/ib")];
    assert_eq!(findings(objects(&[]), &known).await.0, ["NodeNotReporting on Pod llama-worker-0"]);
    assert_eq!(findings(objects(&[node("node-2", "rdma/ib")]), &known).await.0, [""; 0]);
    let forbidden = objects(&[]).into_iter().filter(|(path, _)| *path != NODES).collect();
    let (found, unread) = findings(forbidden, &known).await;
    assert_eq!((found, unread), (Vec::new(), vec!["nodes"]));
}

/// Returns a pod of the job on a node.
fn running(index: usize, node: &str) -> Value {
    let mut pod = waiting("llama", index, "llama");
    pod["spec"]["nodeName"] = node.into();
    pod["status"] = json!({"phase": "Running", "containerStatuses": [{"name": "pytorch", "ready": true,
        "restartCount": 0, "state": {"running": {"startedAt": ago(1_000)}}}]});
    pod
}

/// Returns a pod of the job without a node that may only run on `nodes`.
fn pinned(index: usize, nodes: &[&str]) -> Value {
    let mut pod = waiting("llama", index, "llama");
    let term = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": nodes}]});
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
    pod["spec"]["affinity"] = json!({"nodeAffinity": required});
    pod
}

/// Returns the findings about nodes, and the objects that were not read, of a cluster with `node-1` whose apiserver finds no
/// other node.
async fn findings_about_nodes(pods: &[Value]) -> (Vec<String>, Vec<&'static str>) {
    let groups = list(&[group("llama", 2, &[])]);
    let jobs = list(&[job("llama", pods.len() as u64)]);
    let objects = vec![(PODS, list(pods)), (GROUPS, groups), (JOBS, jobs), (NODES, list(&[]))];
    let (mut found, unread) = findings(objects, &[node("node-1", "rdma/ib")]).await;
    found.retain(|found| found.contains("Node"));
    (found, unread)
}

/// Users can pin pods to any number of names. Those that are not requested prove nothing, and others still do.
#[tokio::test]
async fn names_of_users_do_not_hide_nodes() {
    let lost = running(0, "left");
    let names: Vec<String> = (0..16).map(|number| format!("a-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let [not_reporting, missing] =
        ["NodeNotReporting on Pod llama-worker-0", "PinnedNodeMissing on Pod llama-worker-1"];
    let limit = [lost.clone(), pinned(1, &names)];
    assert_eq!(findings_about_nodes(&limit).await, (vec![missing.into(), not_reporting.into()], vec![]));
    // Of the names, the first ones are requested.
    let beyond = [lost.clone(), pinned(1, &names), pinned(2, &["b"])];
    let expected = vec![missing.to_owned(), not_reporting.into()];
    assert_eq!(findings_about_nodes(&beyond).await, (expected, vec!["pinned_nodes"]));
    let only_beyond = [lost, pinned(1, &["b"]), pinned(2, &names)];
    let expected = vec!["PinnedNodeMissing on Pod llama-worker-2".to_owned(), not_reporting.into()];
    assert_eq!(findings_about_nodes(&only_beyond).await, (expected, vec!["pinned_nodes"]));
}

/// No request finds such a name, and some of them make the apiserver refuse it.
#[tokio::test]
async fn text_that_is_no_name_is_not_requested() {
    let invalid: Vec<String> = (0..16).map(|number| format!("a\\{number}")).collect();
    let invalid: Vec<&str> = invalid.iter().map(String::as_str).collect();
    let pods = [pinned(0, &invalid), pinned(1, &["A B"]), pinned(2, &["b"])];
    assert_eq!(findings_about_nodes(&pods).await, (vec!["PinnedNodeMissing on Pod llama-worker-0".to_owned()], vec![]));
}

/// When a zone fails, the first nodes are confirmed, and what is known about the others stays.
#[tokio::test]
async fn many_missing_nodes_are_confirmed_in_part() {
    let pods: Vec<Value> = (0..17).map(|index| running(index, &format!("left-{index}"))).collect();
    let found = vec!["NodeNotReporting on Pod llama-worker-0".to_owned()];
    assert_eq!(findings_about_nodes(&pods[..16]).await, (found.clone(), vec![]));
    assert_eq!(findings_about_nodes(&pods).await, (found, vec!["nodes"]));
}
