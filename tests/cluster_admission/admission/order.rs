//! Our place before Istio: its injector reads the annotation only while it injects.

use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{SERVED, creation, pod};
use trainmesh_testing::webhook::{Options, Webhook, calls};

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
        Self::of(name, arguments, &pod("train"))
    }

    /// Creates `pod`, whose name is `train`.
    fn of(name: &str, arguments: &[&str], pod: &Value) -> Self {
        Cluster::get().mesh();
        let webhook = Webhook::with(&Options { name, arguments, ..Options::default() });
        let namespace = webhook.namespace(&SERVED);
        let created = namespace.create(pod).success();
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

    fn first_container(&self) -> &Value {
        &self.pod["spec"]["containers"][0]
    }
}

/// The calls of one request: ours, Istio's, and ours again, with whether each changed the pod.
fn rounds(name: &str, changed: [bool; 3]) -> [(String, u32, bool); 3] {
    let [first, injected, second] = changed;
    [(name.to_owned(), 0, first), (ISTIO.to_owned(), 0, injected), (name.to_owned(), 1, second)]
}

/// A pod with these annotations and a container `istio-proxy` of its own behind the application's.
fn customized(annotations: &Value, proxy: &Value) -> Value {
    let mut pod = pod("train");
    pod["metadata"]["annotations"] = annotations.clone();
    if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
        containers.push(proxy.clone());
    }
    pod
}

/// A pod as a template would hold it that was copied from a running one: it carries the proxy and the annotations of an
/// earlier injection, which nobody asked to hold the application.
fn copied() -> Value {
    Cluster::get().mesh();
    let namespace = Cluster::get().namespace(&[("istio-injection", "enabled")]);
    let _ = namespace.create(&pod("train")).success();
    let running = namespace.get("pod", "train").expect("the pod was created");
    let metadata = &running["metadata"];
    let mut spec = running["spec"].clone();
    // The volume with the token of another namespace's account is made again for the new pod.
    let keep = |item: &Value| !item["name"].as_str().is_some_and(|name| name.starts_with("kube-api-access"));
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(mounts) = container.get_mut("volumeMounts").and_then(Value::as_array_mut) {
                mounts.retain(keep);
            }
        }
    }
    spec["volumes"].as_array_mut().expect("the volume with the token").retain(keep);
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": "train", "labels": metadata["labels"], "annotations": metadata["annotations"]}})
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
#[case::own_proxy_container(
    customized(&json!({}), &json!({"name": "istio-proxy", "image": "auto", "resources": {"limits": {"cpu": "3"}}})),
    &["pilot-agent", "wait"]
)]
#[case::carried_by_a_template(copied(), &["pilot-agent", "wait"])]
#[case::grpc_agent(
    customized(&json!({"inject.istio.io/templates": "grpc-agent"}), &json!({"name": "helper", "image": "trainmesh.test/busybox:1"})),
    &["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"]
)]
#[case::native_sidecar_left_to_the_default(
    customized(&json!({"sidecar.istio.io/nativeSidecar": ""}), &json!({"name": "helper", "image": "trainmesh.test/busybox:1"})),
    &["pilot-agent", "wait"]
)]
fn every_classic_proxy_holds_the_application(#[case] pod: Value, #[case] command: &[&str]) {
    let seen = Seen::of("0-trainmesh", &[], &pod);
    let first = seen.first_container();
    assert_eq!(first["name"], "istio-proxy", "{first}");
    assert_eq!(first["lifecycle"]["postStart"]["exec"]["command"], json!(command), "{first}");
    assert_ne!(first["image"], "auto", "{first}");
    assert_eq!(seen.warnings, [""; 0]);
    assert_eq!(seen.calls, rounds("0-trainmesh", [true, true, false]));
}

#[test]
fn a_customized_proxy_keeps_what_its_user_wrote() {
    let own = json!({"name": "istio-proxy", "image": "auto", "resources": {"limits": {"cpu": "3"}},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "10"]}}}});
    let seen = Seen::of("0-trainmesh", &[], &customized(&json!({}), &own));
    let first = seen.first_container();
    assert_eq!(first["resources"]["limits"]["cpu"], "3", "{first}");
    assert_eq!(first["lifecycle"]["preStop"], own["lifecycle"]["preStop"], "{first}");
}

#[test]
fn a_gateway_is_left_alone() {
    let mut gateway = pod("train");
    gateway["spec"]["containers"] = json!([{"name": "istio-proxy", "image": "auto"}]);
    let seen = Seen::of("0-trainmesh", &[], &gateway);
    assert_eq!(seen.warnings, [""; 0]);
    assert_eq!(seen.pod["metadata"]["annotations"]["trainmesh.dev/applied"], Value::Null);
    assert_eq!(seen.calls, rounds("0-trainmesh", [false, true, false]));
}

#[rstest]
#[case::behind_the_injector("zz-trainmesh")]
#[case::just_behind("istio-t")]
fn behind_the_injector_we_come_too_late_and_say_so(#[case] name: &str) {
    let seen = Seen::new(name, &[]);
    let containers = seen.pod["spec"]["containers"].as_array().expect("containers");
    assert!(containers.iter().all(|container| container["lifecycle"].is_null()), "{containers:?}");
    assert_eq!(seen.warnings.len(), 1, "{:?}", seen.warnings);
    assert!(seen.warnings[0].contains("our webhook is called after Istio's injector"), "{:?}", seen.warnings);
    // What arrives injected may be a template, so the hold is written. The built-in admission has added to the new
    // container what every container gets: the second call sees that nobody has read it.
    let expected = [(ISTIO, 0, true), (name, 0, true), (name, 1, false)];
    assert_eq!(seen.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}
