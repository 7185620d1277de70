//! Our place before Istio: its injector reads the annotation only while it injects.

use std::path::Path;

use rstest::rstest;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::pods::{SERVED, creation, pod};
use crate::webhook::{Options, Webhook, calls};

const ISTIO: &str = "istio-sidecar-injector";

/// What a person sees who creates a pod.
struct Seen {
    pod: Value,
    warnings: Vec<String>,
    /// Registration, round, changed.
    calls: Vec<(String, u32, bool)>,
}

impl Seen {
    fn new(name: &str, arguments: &[&str]) -> Self {
        Cluster::get().mesh();
        let webhook = Webhook::with(&Options { name, arguments, ..Options::default() });
        let namespace = webhook.namespace(&SERVED);
        let created = namespace.create(&pod("train")).success();
        let request = creation(&namespace, "train");
        let of = |configuration: String| {
            if configuration == webhook.registration.name { name.to_owned() } else { configuration }
        };
        let calls =
            calls(&request).into_iter().map(|call| (of(call.configuration), call.round, call.mutated)).collect();
        Self {
            pod: namespace.get("pod", "train").expect("the pod was created"),
            warnings: created.warnings().map(str::to_owned).collect(),
            calls,
        }
    }
}

#[test]
fn the_injector_renders_the_hold_that_we_ask_for() {
    let seen = Seen::new("0-trainmesh", &[]);
    let first = &seen.pod["spec"]["containers"][0];
    assert_eq!(first["name"], "istio-proxy");
    assert_eq!(first["lifecycle"]["postStart"]["exec"]["command"], serde_json::json!(["pilot-agent", "wait"]));
    assert_eq!(seen.warnings, [""; 0]);
    // Asked again after the injector has changed the pod, we add nothing.
    let expected = [("0-trainmesh", 0, true), (ISTIO, 0, true), ("0-trainmesh", 1, false)];
    assert_eq!(seen.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}

#[test]
fn the_second_round_gives_the_hold_more_time() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wait-timeout.yaml");
    let text = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nmesh: {waitTimeout: 5m}\n";
    std::fs::write(&file, text).expect("write the configuration");
    let seen = Seen::new("0-trainmesh", &["--config", file.to_str().expect("a path of text")]);
    let command = &seen.pod["spec"]["containers"][0]["lifecycle"]["postStart"]["exec"]["command"];
    assert_eq!(*command, serde_json::json!(["pilot-agent", "wait", "--timeoutSeconds", "300"]));
    let expected = [("0-trainmesh", 0, true), (ISTIO, 0, true), ("0-trainmesh", 1, true)];
    assert_eq!(seen.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}

#[rstest]
#[case::behind_the_injector("zz-trainmesh")]
#[case::just_behind("istio-t")]
fn behind_the_injector_we_come_too_late_and_say_so(#[case] name: &str) {
    let seen = Seen::new(name, &[]);
    let containers = seen.pod["spec"]["containers"].as_array().expect("containers");
    assert!(containers.iter().all(|container| container["lifecycle"].is_null()), "{containers:?}");
    assert_eq!(seen.warnings.len(), 1, "{:?}", seen.warnings);
    assert!(seen.warnings[0].starts_with("mesh.hold: injected without the hold"), "{:?}", seen.warnings);
    // The built-in admission has added to the new container what every container gets: we are asked again.
    let expected = [(ISTIO, 0, true), (name, 0, false), (name, 1, false)];
    assert_eq!(seen.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}
