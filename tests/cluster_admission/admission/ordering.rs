//! The webhook must run before Istio's injector, which reads the annotation only during injection.

use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{OPTED_IN, creation, pod};
use trainmesh_testing::webhook::{Options, Webhook, calls};

const ISTIO: &str = "istio-sidecar-injector";

/// The result of creating a pod.
struct Creation {
    pod: Value,
    warnings: Vec<String>,
    /// Webhook configuration, round, and true if the call changed the pod.
    calls: Vec<(String, u32, bool)>,
}

impl Creation {
    fn new(name: &str, arguments: &[&str]) -> Self {
        Self::with_pod(name, arguments, &pod("train"))
    }

    /// Creates `pod`, whose name must be `train`.
    fn with_pod(name: &str, arguments: &[&str], pod: &Value) -> Self {
        Cluster::get().start_mesh();
        let webhook = Webhook::with_options(&Options { name, arguments, ..Options::default() });
        let namespace = webhook.namespace(&OPTED_IN);
        let created = namespace.create(pod).success();
        let request = creation(&namespace, "train");
        let alias = |configuration: String| {
            if configuration == webhook.configuration.name { name.to_owned() } else { configuration }
        };
        let calls =
            calls(&request).into_iter().map(|call| (alias(call.configuration), call.round, call.mutated)).collect();
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

/// Returns the calls of one request (trainmesh, Istio, trainmesh again), each with true if it changed the pod.
fn rounds(name: &str, changed: [bool; 3]) -> [(String, u32, bool); 3] {
    let [first, injected, second] = changed;
    [(name.to_owned(), 0, first), (ISTIO.to_owned(), 0, injected), (name.to_owned(), 1, second)]
}

/// Returns a pod with these annotations and its own `istio-proxy` container after the application's.
fn customized_pod(annotations: &Value, proxy: &Value) -> Value {
    let mut pod = pod("train");
    pod["metadata"]["annotations"] = annotations.clone();
    if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
        containers.push(proxy.clone());
    }
    pod
}

/// Returns a pod from a template copied from a running one: it has the proxy and the annotations of an earlier
/// injection without a hold.
fn copied_pod() -> Value {
    Cluster::get().start_mesh();
    let namespace = Cluster::get().namespace(&[("istio-injection", "enabled")]);
    let _ = namespace.create(&pod("train")).success();
    let running = namespace.get("pod", "train").expect("the pod was created");
    let metadata = &running["metadata"];
    let mut spec = running["spec"].clone();
    // The token volume belongs to another namespace's account; it is recreated for the new pod.
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
fn the_injector_renders_the_requested_hold() {
    let creation = Creation::new("0-trainmesh", &[]);
    let first = &creation.pod["spec"]["containers"][0];
    assert_eq!(first["name"], "istio-proxy");
    assert_eq!(first["lifecycle"]["postStart"]["exec"]["command"], serde_json::json!(["pilot-agent", "wait"]));
    assert_eq!(creation.warnings, [""; 0]);
    // The second call, after the injector has changed the pod, adds nothing.
    let expected = [("0-trainmesh", 0, true), (ISTIO, 0, true), ("0-trainmesh", 1, false)];
    assert_eq!(creation.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}

#[test]
fn the_second_round_raises_the_wait_timeout() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wait-timeout.yaml");
    let text = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nmesh: {waitTimeout: 5m}\n";
    std::fs::write(&file, text).expect("write the configuration");
    let creation = Creation::new("0-trainmesh", &["--config", file.to_str().expect("a path of text")]);
    let command = &creation.pod["spec"]["containers"][0]["lifecycle"]["postStart"]["exec"]["command"];
    assert_eq!(*command, serde_json::json!(["pilot-agent", "wait", "--timeoutSeconds", "300"]));
    let expected = [("0-trainmesh", 0, true), (ISTIO, 0, true), ("0-trainmesh", 1, true)];
    assert_eq!(creation.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}

#[rstest]
#[case::own_proxy_container(
    customized_pod(&json!({}), &json!({"name": "istio-proxy", "image": "auto", "resources": {"limits": {"cpu": "3"}}})),
    &["pilot-agent", "wait"]
)]
#[case::injected_template(copied_pod(), &["pilot-agent", "wait"])]
#[case::grpc_agent(
    customized_pod(&json!({"inject.istio.io/templates": "grpc-agent"}), &json!({"name": "sidecar", "image": "trainmesh.test/busybox:1"})),
    &["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"]
)]
#[case::native_sidecar_left_to_the_default(
    customized_pod(&json!({"sidecar.istio.io/nativeSidecar": ""}), &json!({"name": "sidecar", "image": "trainmesh.test/busybox:1"})),
    &["pilot-agent", "wait"]
)]
fn every_classic_proxy_holds_the_application(#[case] pod: Value, #[case] command: &[&str]) {
    let creation = Creation::with_pod("0-trainmesh", &[], &pod);
    let first = creation.first_container();
    assert_eq!(first["name"], "istio-proxy", "{first}");
    assert_eq!(first["lifecycle"]["postStart"]["exec"]["command"], json!(command), "{first}");
    assert_ne!(first["image"], "auto", "{first}");
    assert_eq!(creation.warnings, [""; 0]);
    assert_eq!(creation.calls, rounds("0-trainmesh", [true, true, false]));
}

#[test]
fn a_customized_proxy_keeps_user_settings() {
    let own = json!({"name": "istio-proxy", "image": "auto", "resources": {"limits": {"cpu": "3"}},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "10"]}}}});
    let creation = Creation::with_pod("0-trainmesh", &[], &customized_pod(&json!({}), &own));
    let first = creation.first_container();
    assert_eq!(first["resources"]["limits"]["cpu"], "3", "{first}");
    assert_eq!(first["lifecycle"]["preStop"], own["lifecycle"]["preStop"], "{first}");
}

#[test]
fn a_gateway_is_not_changed() {
    let mut gateway = pod("train");
    gateway["spec"]["containers"] = json!([{"name": "istio-proxy", "image": "auto"}]);
    let creation = Creation::with_pod("0-trainmesh", &[], &gateway);
    assert_eq!(creation.warnings, [""; 0]);
    assert_eq!(creation.pod["metadata"]["annotations"]["trainmesh.dev/applied"], Value::Null);
    assert_eq!(creation.calls, rounds("0-trainmesh", [false, true, false]));
}

#[rstest]
#[case::after_the_injector("zz-trainmesh")]
#[case::directly_after("istio-t")]
fn a_webhook_after_the_injector_warns_that_it_is_too_late(#[case] name: &str) {
    let creation = Creation::new(name, &[]);
    let containers = creation.pod["spec"]["containers"].as_array().expect("containers");
    assert!(containers.iter().all(|container| container["lifecycle"].is_null()), "{containers:?}");
    assert_eq!(creation.warnings.len(), 1, "{:?}", creation.warnings);
    assert!(
        creation.warnings[0].contains("the trainmesh webhook is called after Istio's injector"),
        "{:?}",
        creation.warnings
    );
    // A pod that arrives injected may come from a template, so the hold is written. Built-in admission has since added
    // defaults to the new container: the second call detects that the injector has not read the hold.
    let expected = [(ISTIO, 0, true), (name, 0, true), (name, 1, false)];
    assert_eq!(creation.calls, expected.map(|(name, round, changed)| (name.to_owned(), round, changed)));
}
