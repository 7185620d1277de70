mod nodes;

use jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher::Event;
use serde_json::json;
use trainmesh_core::diagnosis::{PublishedFinding, Selection, diagnose};
use trainmesh_testing::apiserver::Apiserver;

use super::super::nodes::WatchedNodes;
use super::*;

const PODS: &str = "/api/v1/namespaces/team-a/pods";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team-a/podgroups";
const JOBS: &str = "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs";
const NODES: &str = "/api/v1/nodes";

fn ago(seconds: i64) -> String {
    (Timestamp::now() - SignedDuration::from_secs(seconds)).to_string()
}

/// Returns a pod of the job `job` that has waited for a node for 20 minutes, and names the `PodGroup` `group`.
fn waiting(job: &str, index: usize, group: &str) -> Value {
    json!({"metadata": {"namespace": "team-a", "name": format!("{job}-worker-{index}"), "uid": format!("{job}-{index}"),
        "creationTimestamp": ago(1_200), "annotations": {"scheduling.k8s.io/group-name": group}, "labels": {
            "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": job,
            "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": index.to_string()}},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "pytorch", "image": "train:1",
            "resources": {"limits": {"nvidia.com/gpu": 8, "rdma/ib": 1}}}]},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "Insufficient rdma/ib", "lastTransitionTime": ago(1_200)}]}})
}

/// Returns a `PodGroup` with the first item of `owners` as its owner.
fn group(name: &str, minimum: u64, owner: &[&str]) -> Value {
    let owners: Vec<Value> =
        owner.iter().map(|pod| json!({"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": pod})).collect();
    json!({"metadata": {"namespace": "team-a", "name": name, "uid": format!("uid-{name}"), "creationTimestamp": ago(1_200),
        "ownerReferences": owners}, "spec": {"minMember": minimum}})
}

fn job(name: &str, workers: u64) -> Value {
    let role = json!({"replicas": workers, "template": {"spec": {"containers": [{"name": "pytorch"}]}}});
    json!({"metadata": {"namespace": "team-a", "name": name, "uid": name, "creationTimestamp": ago(1_200)},
        "spec": {"pytorchReplicaSpecs": {"Worker": role}}})
}

fn node(name: &str, device: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"allocatable": {device: "8"},
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(9_000)}]}})
}

fn list(items: &[Value]) -> Value {
    json!({"metadata": {}, "items": items})
}

fn not_found() -> Value {
    json!({"kind": "Status", "code": 404, "status": "Failure", "reason": "NotFound"})
}

/// Returns nodes as a watch has delivered them; none if it has delivered nothing.
fn watched(nodes: &[Value]) -> WatchedNodes {
    let watched = WatchedNodes::default();
    if !nodes.is_empty() {
        let events = nodes.iter().map(|node| Event::InitApply(serde_json::from_value(node.clone()).unwrap()));
        for event in [Event::Init].into_iter().chain(events).chain([Event::InitDone]) {
            watched.apply(&event);
        }
    }
    watched
}

/// Configuration with the features whose permissions the controller needs.
fn config(gang: bool) -> Configuration {
    let mut config = Configuration::embedded();
    config.gang.enabled = gang;
    config
}

/// Reads the workload `llama` from `objects`.
async fn read(objects: Vec<(&'static str, Value)>, nodes: &WatchedNodes, config: &Configuration) -> NamespaceSnapshot {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Apiserver::start(objects);
    let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
    let llama = PodWorkload::named("PyTorchJob", "llama");
    read_namespace(&client, "team-a", config, nodes, |workload| *workload == llama).await.unwrap()
}

/// Returns the findings with the objects of their events, and the objects that were not read.
async fn findings(objects: Vec<(&'static str, Value)>, nodes: &[Value]) -> (Vec<String>, Vec<&'static str>) {
    let NamespaceSnapshot { snapshot, unread } = read(objects, &watched(nodes), &config(true)).await;
    let report = diagnose(&snapshot, &Selection::default(), Timestamp::now());
    let short = report.diagnoses.iter().map(|found| {
        let PublishedFinding { kind, name, .. } = PublishedFinding::new(found, &snapshot).unwrap();
        format!("{} on {kind} {name}", found.code.code())
    });
    (short.collect(), unread.into_keys().map(RelatedObjects::name).collect())
}

fn pods() -> [Value; 2] {
    [0, 1].map(|index| waiting("llama", index, "llama"))
}

#[tokio::test]
async fn a_gang_without_its_object() {
    let groups = list(&[group("other", 2, &[])]);
    let (found, unread) = findings(vec![(PODS, list(&pods())), (GROUPS, groups), (JOBS, list(&[]))], &[]).await;
    assert_eq!(found, ["PodGroupMissing on Pod llama-worker-0"]);
    assert_eq!(unread, ["nodes"], "the watch has delivered nothing");
}

#[tokio::test]
async fn a_gang_that_is_too_large_is_published_on_a_pod() {
    let objects = |minimum, others: &[Value]| {
        let pods = list(&[&pods()[..], others].concat());
        vec![(PODS, pods), (GROUPS, list(&[group("llama", minimum, &[])])), (JOBS, list(&[job("llama", 2)]))]
    };
    assert_eq!(findings(objects(3, &[]), &[]).await.0, ["PodGroupTooLarge on Pod llama-worker-0"]);
    let pending = ["PodsUnschedulable on Pod llama-worker-0"];
    assert_eq!(findings(objects(2, &[]), &[]).await.0, pending);
    let other = waiting("gpt", 0, "llama");
    assert_eq!(findings(objects(3, &[other]), &[]).await.0, pending, "a pod that is not diagnosed is a member");
}

/// The pods contain the minimum of a gang of Koordinator.
#[tokio::test]
async fn an_incomplete_gang_without_an_object_is_published_on_a_pod() {
    let declared = json!({"metadata": {"annotations": {
        "trainmesh.dev/applied": "gang=koordinator", "scheduling.k8s.io/group-name": null,
        "gang.scheduling.koordinator.sh/name": "llama", "gang.scheduling.koordinator.sh/min-available": "3",
    }}});
    let pods = pods().map(|mut pod| {
        json_patch::merge(&mut pod, &declared);
        pod
    });
    let found = findings(vec![(PODS, list(&pods)), (JOBS, list(&[job("llama", 3)]))], &[]).await.0;
    assert_eq!(found, ["GangIncomplete on Pod llama-worker-0"]);
}

/// The owners of `PodGroups` may be pods that are not diagnosed.
#[tokio::test]
async fn an_orphaned_group_is_published_on_itself() {
    let groups = list(&[
        group("llama", 2, &["llama-worker-0"]),
        group("left", 2, &["deleted"]),
        group("used", 2, &["deleted"]),
        group("owned", 2, &["gpt-worker-1"]),
    ]);
    let others = [waiting("gpt", 0, "used"), waiting("gpt", 1, "none")];
    let objects = vec![(PODS, list(&[&pods()[..], &others].concat())), (GROUPS, groups), (JOBS, list(&[]))];
    let found = findings(objects, &[]).await.0;
    assert_eq!(found, ["PodsUnschedulable on Pod llama-worker-0", "PodGroupOrphaned on PodGroup left"]);
}

#[tokio::test]
async fn what_is_forbidden_is_left_out() {
    let (found, unread) = findings(vec![(PODS, list(&pods()))], &[]).await;
    assert_eq!(found, ["PodsUnschedulable on Pod llama-worker-0"]);
    assert_eq!(unread, ["podgroups", "workloads", "nodes"]);
}

#[tokio::test]
async fn kinds_that_are_not_served_prove_nothing() {
    let objects = vec![(PODS, list(&pods())), (GROUPS, not_found()), (JOBS, not_found())];
    let (found, unread) = findings(objects, &[]).await;
    assert_eq!(found, ["PodsUnschedulable on Pod llama-worker-0"]);
    assert_eq!(unread, ["nodes"]);
}

/// A list whose second page fails contains no evidence.
#[tokio::test]
async fn an_incomplete_list_proves_nothing() {
    let groups = json!({"metadata": {"continue": "2"}, "items": [group("other", 2, &[])]});
    let first = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team-a/podgroups?&limit=100";
    let (found, unread) = findings(vec![(PODS, list(&pods())), (first, groups), (JOBS, list(&[]))], &[]).await;
    assert_eq!(found, ["PodsUnschedulable on Pod llama-worker-0"]);
    assert_eq!(unread, ["podgroups", "nodes"]);
}

/// Without the feature, there is no permission to be missing.
#[tokio::test]
async fn only_objects_of_enabled_features_are_read() {
    let known = watched(&[node("node-1", "rdma/ib")]);
    let NamespaceSnapshot { snapshot, unread } = read(vec![(PODS, list(&pods()))], &known, &config(false)).await;
    assert!(unread.is_empty(), "{unread:?}");
    let report = diagnose(&snapshot, &Selection::default(), Timestamp::now());
    assert_eq!(report.diagnoses[0].code.code(), "PodsUnschedulable");
}
