//! Inventories of workloads that use accelerators.

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, Inventory, MAX_ENTRIES, Selection, inventory};

use super::objects::{NOW, START, pytorchjob, rank, unscheduled, with};

fn list(objects: &[Value]) -> Inventory {
    let mut snapshot = ClusterSnapshot::default();
    for object in objects {
        assert!(snapshot.add(object, "default").unwrap(), "ignored: {object}");
    }
    inventory(&snapshot, &Selection::default(), NOW.parse::<Timestamp>().unwrap())
}

/// Returns class and signs of each workload.
fn classes(objects: &[Value]) -> Vec<String> {
    let entries = list(objects).entries;
    let described = entries.iter().map(|entry| {
        let signs: Vec<&str> = entry.signs.iter().map(|sign| sign.name()).collect();
        format!("{} {}: {}", entry.class.name(), entry.workload.kind, signs.join(","))
    });
    described.collect()
}

/// Returns a running pod with one GPU, owned by `kind`.
fn pod(kind: &str, patch: Value) -> Value {
    let owner = json!([{"apiVersion": "a/v1", "kind": kind, "name": "a", "controller": true}]);
    let owners = if kind == "Pod" { json!([]) } else { owner };
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "team-a", "name": "a-0", "creationTimestamp": START, "ownerReferences": owners},
        "spec": {"nodeName": "n", "restartPolicy": "Always",
            "containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
        "status": {"phase": "Running"}});
    with(pod, patch)
}

fn never() -> Value {
    json!({"spec": {"restartPolicy": "Never"}})
}

#[rstest]
#[case::training_job(&[rank(0), rank(1)], "training PyTorchJob: batchKind,runsToCompletion")]
#[case::queue(&[with(pytorchjob(1), json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})), rank(0)],
    "training PyTorchJob: batchKind,queue,runsToCompletion,singlePod")]
#[case::deployment(&[pod("ReplicaSet", json!({}))], "inference ReplicaSet: servingKind,alwaysRestarted,singlePod")]
#[case::stateful_set(&[pod("StatefulSet", json!({}))], "inference StatefulSet: servingKind,alwaysRestarted,singlePod")]
#[case::notebook(&[pod("StatefulSet", json!({"metadata": {"labels": {"notebook-name": "a"}}}))],
    "interactive StatefulSet: servingKind,notebook,alwaysRestarted,singlePod")]
#[case::job(&[pod("Job", never())], "training Job: batchKind,runsToCompletion,singlePod")]
#[case::bare(&[pod("Pod", json!({}))], "unknown Pod: alwaysRestarted,singlePod")]
#[case::bare_without_restart(&[pod("Pod", never())], "unknown Pod: runsToCompletion,singlePod")]
#[case::bare_gang(&[with(pod("Pod", never()), json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}))],
    "training Pod: gang,runsToCompletion,singlePod")]
#[case::serving_gang(&[pod("Pod", json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}}))],
    "unknown Pod: gang,alwaysRestarted,singlePod")]
#[case::checkpoints(&[pod("Pod", json!({"spec": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "a"}}]}}))],
    "unknown Pod: alwaysRestarted,persistentVolume,singlePod")]
#[case::scratch(&[pod("Pod", json!({"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}}))], "unknown Pod: alwaysRestarted,singlePod")]
fn workloads_are_classified(#[case] objects: &[Value], #[case] expected: &str) {
    assert_eq!(classes(objects), [expected]);
}

#[rstest]
#[case::no_accelerator(with(pod("Pod", json!({})), json!({"spec": {"containers": [{"name": "a"}]}})))]
#[case::finished(pod("Pod", json!({"status": {"phase": "Succeeded"}})))]
fn other_pods_are_not_listed(#[case] pod: Value) {
    assert!(list(&[pod]).entries.is_empty());
}

#[test]
fn an_entry_describes_its_pods() {
    let network =
        json!({"metadata": {"annotations": {"trainmesh.dev/applied": "mesh.hold,fabric=ib-shared,gang=native"}}});
    let waiting = with(rank(2), unscheduled(START));
    let pods = [with(rank(0), network), rank(1), waiting];
    let report = list(&pods).to_json("1", &[]);
    let expected = json!({
        "workload": {"kind": "PyTorchJob", "namespace": "team-a", "name": "llama"},
        "class": "training",
        "signs": ["batchKind", "runsToCompletion"],
        "pods": 3,
        "roles": {"master": 1, "worker": 2},
        "accelerators": 24,
        "pendingAccelerators": 8,
        "devices": "devicePlugin",
        "gang": null,
        "fabric": "ib-shared",
        "mesh": "none",
    });
    assert_eq!(report["workloads"][0], expected);
    assert_eq!((&report["schemaVersion"], &report["omittedWorkloads"]), (&json!(1), &json!(0)));
}

#[rstest]
#[case::claims(json!({"resourceClaims": [{"name": "gpu"}], "containers": [{"name": "a"}]}), "dra", 0)]
#[case::both(json!({"resourceClaims": [{"name": "nic"}]}), "devicePlugin,dra", 1)]
fn devices_of_claims(#[case] spec: Value, #[case] devices: &str, #[case] accelerators: u64) {
    let entries = list(&[pod("Pod", json!({"spec": spec}))]).entries;
    assert_eq!((entries[0].devices.name(), entries[0].accelerators), (devices, accelerators));
}

#[test]
fn requested_adapters_are_the_fabric() {
    let limits = json!({"nvidia.com/gpu": 1, "rdma/ib": 1});
    let spec = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": limits}}]}});
    assert_eq!(list(&[pod("Pod", spec)]).entries[0].fabric.as_deref(), Some("rdma/ib"));
}

#[test]
fn proxies_of_pods() {
    let proxied = |index: usize| {
        let mut pod = rank(index);
        pod["spec"]["containers"] = json!([super::objects::main_container(), {"name": "istio-proxy"}]);
        with(
            pod,
            json!({"metadata": {"annotations": {"sidecar.istio.io/status": "{\"containers\": [\"istio-proxy\"]}"}}}),
        )
    };
    let mesh = |pods: &[Value]| list(pods).entries[0].mesh.name();
    assert_eq!(mesh(&[proxied(0), proxied(1)]), "classic");
    assert_eq!(mesh(&[proxied(0), rank(1)]), "mixed");
}

#[test]
fn the_largest_training_comes_first() {
    let other = super::objects::rank_of("small", 0);
    let names: Vec<String> = list(&[pod("ReplicaSet", json!({})), other, rank(0), rank(1)])
        .entries
        .iter()
        .map(|entry| entry.workload.name.clone())
        .collect();
    assert_eq!(names, ["llama", "small", "a"]);
}

#[test]
fn the_number_of_workloads_is_limited() {
    let pods: Vec<Value> =
        (0..=MAX_ENTRIES).map(|index| pod("Pod", json!({"metadata": {"name": format!("a-{index}")}}))).collect();
    let found = list(&pods);
    assert_eq!((found.entries.len(), found.omitted), (MAX_ENTRIES, 1));
}
