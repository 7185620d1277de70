//! Findings that the controller publishes, with real pods that request simulated GPUs.

use std::time::Duration;

use serde_json::json;

use crate::fixture::Fixture;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::controller::{
    ContainerState, Controller, PodManifest, container, events, wait_for_event, wait_for_pod,
};

/// Adds a container that runs `script` and requests a GPU.
fn with_gpu(pod: PodManifest, image: &str, script: &str) -> PodManifest {
    let mut container = container("pytorch", script);
    container["image"] = image.into();
    container["resources"] = json!({"limits": {"nvidia.com/gpu": 1}});
    pod.container(container)
}

const IMAGE: &str = "trainmesh.test/busybox:1";
/// Time within which a finding counts as resolved: five minutes of absence, and the next scan.
const RESOLVED: Duration = Duration::from_mins(7);

/// Waits until a series is not 0. Other tests run pods at the same time, which may count too.
fn wait_for_any(controller: &Controller, series: &str) {
    eventually(TIMEOUT, &format!("{series} is above 0"), || match controller.metric(series) {
        Some(1..) => Ok(()),
        found => Err(format!("{found:?}")),
    });
}

#[test]
fn a_pod_that_its_proxy_keeps_is_published_once() {
    Cluster::get().start_devices();
    let fixture = Fixture::new();
    // In audit mode, no proxy is terminated.
    let namespace = Cluster::get().namespace(&[("trainmesh.dev/inject", "audit"), ("istio-injection", "enabled")]);
    let _ = namespace.create(&with_gpu(fixture.group.pod("train"), IMAGE, "true")).success();
    let event = wait_for_event(&namespace, "train", "SidecarOutlivesMain");
    assert!(event.warning && event.note.contains("sidecars of train run after the main containers"), "{event:?}");
    wait_for_any(&fixture.controller, "trainmesh_findings{id=\"SidecarOutlivesMain\"}");
    wait_for_any(&fixture.controller, "trainmesh_gpu_seconds_wasted_total{cause=\"sidecar_running\"}");
    let found = events(&namespace, "train").into_iter().filter(|event| event.reason == "SidecarOutlivesMain");
    assert_eq!(found.map(|event| event.count).collect::<Vec<_>>(), [1]);
}

#[test]
fn peers_that_wait_for_one_pod_are_counted() {
    Cluster::get().start_devices();
    let fixture = Fixture::new();
    let rank = |role: &str, image: &str| {
        let pod = fixture.group.pod(&format!("llama-{role}-0")).label("sidecar.istio.io/inject", "false");
        let pod = pod.label("training.kubeflow.org/operator-name", "pytorchjob-controller");
        let pod = pod.label("training.kubeflow.org/job-name", "llama");
        let pod = pod.label("training.kubeflow.org/replica-type", role);
        with_gpu(pod.label("training.kubeflow.org/replica-index", "0"), image, "sleep 1h")
    };
    fixture.create(&rank("master", IMAGE));
    // The event counts the pods that wait when it is published.
    wait_for_pod(&fixture.namespace, "llama-master-0", "it runs", |pod| {
        pod.state("pytorch") == ContainerState::Running
    });
    fixture.create(&rank("worker", "trainmesh.test/missing:1"));
    let event = wait_for_event(&fixture.namespace, "llama-worker-0", "ImagePullFails");
    assert!(event.note.contains("so 1 other pod of the job waits"), "{event:?}");
    assert!(events(&fixture.namespace, "llama-master-0").iter().all(|event| event.reason != "ImagePullFails"));
    wait_for_any(&fixture.controller, "trainmesh_gpu_seconds_wasted_total{cause=\"peers_waiting\"}");
    for series in ["workloads", "accelerators"] {
        wait_for_any(&fixture.controller, &format!("trainmesh_inventory_{series}{{class=\"training\"}}"));
    }
}

/// The watch of nodes shows that no node has this name.
#[test]
fn a_pod_that_is_limited_to_a_missing_node_is_published() {
    let fixture = Fixture::new();
    let pod =
        fixture.group.pod("pinned").label("sidecar.istio.io/inject", "false").container(container("main", "true"));
    fixture.create(&pod.spec("nodeSelector", json!({"kubernetes.io/hostname": "left"})));
    let event = wait_for_event(&fixture.namespace, "pinned", "PinnedNodeMissing");
    assert!(event.warning && event.note.contains("may only run on left, which does not exist"), "{event:?}");
    assert_eq!(fixture.controller.metric("trainmesh_diagnosis_unread_objects{objects=\"nodes\"}"), Some(0));
}

/// One event for each transition: a warning when the finding appears, and a normal one when it has been absent for a while.
#[test]
#[ignore = "takes six minutes"]
fn a_finding_that_disappears_is_published_as_resolved() {
    let fixture = Fixture::new();
    let mut container = container("main", "sleep 1h");
    container["image"] = "trainmesh.test/missing:1".into();
    fixture.create(&fixture.group.pod("train").label("sidecar.istio.io/inject", "false").container(container));
    wait_for_event(&fixture.namespace, "train", "ImagePullFails");
    let patch = json!({"spec": {"containers": [{"name": "main", "image": IMAGE}]}}).to_string();
    let _ = fixture.namespace.kubectl(&["patch", "pod", "train", "-p", &patch], "").success();
    let transitions = || {
        let found = events(&fixture.namespace, "train").into_iter().filter(|event| event.reason == "ImagePullFails");
        found.map(|event| (event.warning, event.count, event.note.contains(": resolved: "))).collect::<Vec<_>>()
    };
    let expected = [(true, 1, false), (false, 1, true)];
    eventually(RESOLVED, "the finding is resolved", || {
        let mut found = transitions();
        found.sort_unstable_by(|a, b| b.cmp(a));
        if found == expected { Ok(()) } else { Err(format!("{found:?}")) }
    });
}

#[test]
fn a_namespace_that_has_not_opted_in_is_not_diagnosed() {
    let fixture = Fixture::new();
    let namespace = Cluster::get().namespace(&[("istio-injection", "enabled")]);
    let missing = |name: &str| {
        let mut container = container("main", "true");
        container["image"] = "trainmesh.test/missing:1".into();
        fixture.group.pod(name).label("sidecar.istio.io/inject", "false").container(container)
    };
    let _ = namespace.create(&missing("other")).success();
    // Created later, so that the first pod would have been published by then.
    fixture.create(&missing("own"));
    wait_for_event(&fixture.namespace, "own", "ImagePullFails");
    assert!(events(&namespace, "other").is_empty());
}
