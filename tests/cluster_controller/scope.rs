//! Which proxies are terminated: opt-in and opt-out, and the choice of main containers.

use crate::fixture::Fixture;
use trainmesh_testing::cluster::{Cluster, Namespace};
use trainmesh_testing::controller::{
    ContainerState, ObservedPod, PROXY, container_requests, observe, wait_for_event, wait_for_pod,
};

const INJECTED: (&str, &str) = ("istio-injection", "enabled");
const INJECT: &str = "trainmesh.dev/inject";

/// A pod that is not managed, and the change that opts it in.
struct Excluded {
    labels: &'static [(&'static str, &'static str)],
    /// The pod's own value of the label.
    pod: Option<&'static str>,
    /// Reason of the event on the pod.
    event: Option<&'static str>,
    /// Arguments of kubectl that opt in the namespace or the pod.
    opt_in: fn(&Namespace) -> Vec<String>,
}

#[test]
fn pods_are_managed_only_after_opt_in() {
    let cases = [
        Excluded {
            labels: &[INJECTED],
            pod: None,
            event: None,
            opt_in: |namespace| label("namespace", &namespace.name, "enabled"),
        },
        Excluded {
            labels: &[INJECTED, (INJECT, "audit")],
            pod: None,
            event: Some("ProxyEnded"),
            opt_in: |namespace| label("namespace", &namespace.name, "enabled"),
        },
        Excluded {
            labels: &[INJECTED, (INJECT, "enabled")],
            pod: Some("disabled"),
            event: None,
            opt_in: |_| vec!["label".into(), "pod".into(), "train".into(), format!("{INJECT}-")],
        },
        Excluded {
            labels: &[INJECTED, (INJECT, "unknown"), ("io.datastrophic/istio-aux", "enabled")],
            pod: None,
            event: None,
            opt_in: |namespace| vec!["label".into(), "namespace".into(), namespace.name.clone(), format!("{INJECT}-")],
        },
    ];
    let fixture = Fixture::new();
    let namespaces: Vec<_> = cases.iter().map(|case| Cluster::get().namespace(case.labels)).collect();
    for (case, namespace) in cases.iter().zip(&namespaces) {
        let pod = fixture.group.pod("train").script("train", "true");
        let pod = case.pod.into_iter().fold(pod, |pod, value| pod.label(INJECT, value));
        let _ = namespace.create(&pod).success();
    }
    for namespace in &namespaces {
        wait_for_pod(namespace, "train", "the main container has terminated, and the proxy is ready", |pod| {
            pod.terminated_at("train").is_some() && pod.is_ready(PROXY)
        });
    }
    fixture.wait_caught_up();
    for (case, namespace) in cases.iter().zip(&namespaces) {
        let pod = observe(namespace, "train");
        assert_eq!(pod.state(PROXY), ContainerState::Running, "{:?}: {pod}", case.labels);
        assert_eq!(container_requests(namespace, "train"), [], "{:?}", case.labels);
        if let Some(reason) = case.event {
            wait_for_event(namespace, "train", reason);
        }
    }
    for (case, namespace) in cases.iter().zip(&namespaces) {
        let arguments = (case.opt_in)(namespace);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let _ = namespace.kubectl(&arguments, "").success();
    }
    for namespace in &namespaces {
        let pod = wait_for_pod(namespace, "train", "finished", ObservedPod::is_finished);
        assert_eq!(pod.phase(), "Succeeded", "{pod}");
    }
}

#[test]
fn istio_aux_namespaces_are_managed() {
    let fixture = Fixture::new();
    let namespace = Cluster::get().namespace(&[INJECTED, ("io.datastrophic/istio-aux", "enabled")]);
    let _ = namespace.create(&fixture.group.pod("train").script("train", "true")).success();
    wait_for_pod(&namespace, "train", "finished", ObservedPod::is_finished);
}

#[test]
fn the_annotation_selects_the_main_containers() {
    let fixture = Fixture::new();
    let pod = |name| fixture.group.pod(name).annotation("trainmesh.dev/payload-containers", "train");
    fixture.create(&pod("train").script("train", "true").script("metrics", "sleep 1h"));
    fixture.create(&pod("other").script("train", "sleep 1h").script("metrics", "true"));
    let pod =
        wait_for_pod(&fixture.namespace, "train", "the proxy has terminated", |pod| pod.terminated_at(PROXY).is_some());
    assert_eq!(pod.state("metrics"), ContainerState::Running, "{pod}");
    fixture.wait_caught_up();
    let pod = observe(&fixture.namespace, "other");
    assert_eq!([pod.state("train"), pod.state(PROXY)], [ContainerState::Running, ContainerState::Running], "{pod}");
    assert_eq!(container_requests(&fixture.namespace, "other"), []);
}

#[test]
fn the_stabilization_window_of_the_pod_is_respected() {
    let fixture = Fixture::new();
    fixture.create(&fixture.group.pod("train").annotation("trainmesh.dev/settle", "8s").script("train", "true"));
    let delay = fixture.wait_finished("train").proxy_delay(&["train"]).unwrap();
    assert!(delay.as_secs() >= 7, "timestamps are whole seconds: {delay}");
}

fn label(kind: &str, name: &str, value: &str) -> Vec<String> {
    vec!["label".into(), kind.into(), name.into(), "--overwrite".into(), format!("{INJECT}={value}")]
}
