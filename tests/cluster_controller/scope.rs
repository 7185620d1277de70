//! Whose proxies are ended: opt-in and opt-out, and what counts as payload.

use crate::world::World;
use trainmesh_testing::cluster::{Cluster, Namespace};
use trainmesh_testing::controller::{PROXY, Seen, State, asked, see, told, watch};

const INJECTED: (&str, &str) = ("istio-injection", "enabled");
const ALONE: &str = "trainmesh.dev/inject";

/// Why a pod is left alone, and what makes it ours.
struct Left {
    labels: &'static [(&'static str, &'static str)],
    /// The pod's own value of the label.
    pod: Option<&'static str>,
    /// The event that tells of it.
    told: Option<&'static str>,
    /// The change that makes it ours: `kubectl label` for the namespace, or for the pod.
    opt_in: fn(&Namespace) -> Vec<String>,
}

#[test]
fn what_is_not_opted_in_is_left_alone_until_it_is() {
    let cases = [
        Left { labels: &[INJECTED], pod: None, told: None, opt_in: |it| label("namespace", &it.name, "enabled") },
        Left {
            labels: &[INJECTED, (ALONE, "audit")],
            pod: None,
            told: Some("ProxyEnded"),
            opt_in: |it| label("namespace", &it.name, "enabled"),
        },
        Left {
            labels: &[INJECTED, (ALONE, "enabled")],
            pod: Some("disabled"),
            told: None,
            opt_in: |_| vec!["label".into(), "pod".into(), "train".into(), format!("{ALONE}-")],
        },
        Left {
            labels: &[INJECTED, (ALONE, "unknown"), ("io.datastrophic/istio-aux", "enabled")],
            pod: None,
            told: None,
            opt_in: |it| vec!["label".into(), "namespace".into(), it.name.clone(), format!("{ALONE}-")],
        },
    ];
    let world = World::new();
    let namespaces: Vec<_> = cases.iter().map(|case| Cluster::get().namespace(case.labels)).collect();
    for (case, namespace) in cases.iter().zip(&namespaces) {
        let pod = world.group.pod("train").runs("train", "true");
        let pod = case.pod.into_iter().fold(pod, |pod, value| pod.label(ALONE, value));
        let _ = namespace.create(&pod).success();
    }
    for namespace in &namespaces {
        watch(namespace, "train", "the payload has ended and the proxy is ready", |seen| {
            seen.ended("train").is_some() && seen.ready(PROXY)
        });
    }
    world.catches_up();
    for (case, namespace) in cases.iter().zip(&namespaces) {
        let seen = see(namespace, "train");
        assert_eq!(seen.state(PROXY), State::Running, "{:?}: {seen}", case.labels);
        assert_eq!(asked(namespace, "train"), [], "{:?}", case.labels);
        if let Some(reason) = case.told {
            told(namespace, "train", reason);
        }
    }
    for (case, namespace) in cases.iter().zip(&namespaces) {
        let words = (case.opt_in)(namespace);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let _ = namespace.kubectl(&words, "").success();
    }
    for namespace in &namespaces {
        let seen = watch(namespace, "train", "over", Seen::over);
        assert_eq!(seen.phase(), "Succeeded", "{seen}");
    }
}

#[test]
fn istio_aux_namespaces_are_served() {
    let world = World::new();
    let namespace = Cluster::get().namespace(&[INJECTED, ("io.datastrophic/istio-aux", "enabled")]);
    let _ = namespace.create(&world.group.pod("train").runs("train", "true")).success();
    watch(&namespace, "train", "over", Seen::over);
}

#[test]
fn the_annotation_says_what_is_payload() {
    let world = World::new();
    let pod = |name| world.group.pod(name).annotation("trainmesh.dev/payload-containers", "train");
    world.create(&pod("train").runs("train", "true").runs("metrics", "sleep 1h"));
    world.create(&pod("other").runs("train", "sleep 1h").runs("metrics", "true"));
    let seen = watch(&world.namespace, "train", "the proxy has ended", |seen| seen.ended(PROXY).is_some());
    assert_eq!(seen.state("metrics"), State::Running, "{seen}");
    world.catches_up();
    let seen = see(&world.namespace, "other");
    assert_eq!([seen.state("train"), seen.state(PROXY)], [State::Running, State::Running], "{seen}");
    assert_eq!(asked(&world.namespace, "other"), []);
}

#[test]
fn the_settle_window_of_the_pod_is_kept() {
    let world = World::new();
    world.create(&world.group.pod("train").annotation("trainmesh.dev/settle", "8s").runs("train", "true"));
    let delay = world.over("train").delay(&["train"]).unwrap();
    assert!(delay.as_secs() >= 7, "ends are told in whole seconds: {delay}");
}

fn label(kind: &str, name: &str, value: &str) -> Vec<String> {
    vec!["label".into(), kind.into(), name.into(), "--overwrite".into(), format!("{ALONE}={value}")]
}
