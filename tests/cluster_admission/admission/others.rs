//! Webhooks of others that are called for pods: those that drop fields, those that do not respond, and those that copy
//! settings into containers of their own. `trainmesh doctor` finds the first two.

use rstest::rstest;
use serde_json::{Map, Value, json};

use super::faulty_webhook::{Fault, FaultyWebhook};
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, creation, pod};
use trainmesh_testing::webhook::{Scope, Webhook, WebhookConfiguration, calls};

const OPTED_IN_ONLY: [(&str, &str); 1] = [("trainmesh.dev/inject", "enabled")];

/// Returns the evidence of doctor's findings with this code.
fn doctor(code: &str) -> String {
    let run = trainmesh(&["doctor", "-o", "json"], "");
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let findings = report["findings"].as_array().expect("a list");
    let evidence =
        findings.iter().filter(|finding| finding["code"] == code).map(|finding| finding["about"].to_string());
    evidence.collect()
}

/// Waits until this evidence contains `text`, and returns it. `doctor` omits what a busy apiserver does not answer in time.
fn wait_for_evidence(code: &str, text: &str) -> String {
    eventually(TIMEOUT, &format!("doctor finds {code}"), || {
        let evidence = doctor(code);
        if evidence.contains(text) { Ok(evidence) } else { Err(evidence) }
    })
}

/// Removes the fields of a pod that Kubernetes 1.27 does not have, as a webhook with its types does.
fn without_new_fields(pod: &Value) -> Value {
    let mut operations = Vec::new();
    let mut remove = |path: String| {
        if pod.pointer(&path).is_some() {
            operations.push(json!({"op": "remove", "path": path}));
        }
    };
    for list in ["initContainers", "containers"] {
        let count = pod["spec"][list].as_array().map_or(0, Vec::len);
        for index in 0..count {
            for field in ["restartPolicy", "resources/claims"] {
                remove(format!("/spec/{list}/{index}/{field}"));
            }
        }
    }
    remove("/spec/resourceClaims".to_owned());
    Value::Array(operations)
}

#[test]
fn doctor_finds_the_webhook_that_drops_fields() {
    Cluster::get().start_mesh();
    let server = FaultyWebhook::start(Fault::Patch(without_new_fields));
    let webhook = server.webhook("old.example.com", &json!({}));
    let configuration = WebhookConfiguration::new(Scope::new(), "old-api", vec![webhook]);
    let alone = configuration.namespace(&OPTED_IN_ONLY);
    let with_istio = configuration.namespace(&OPTED_IN);
    let dropped = "initContainers.restartPolicy, resourceClaims, containers.restartPolicy";
    let expected = format!("{dropped} in {}: {}", alone.name, configuration.name);
    let certain = wait_for_evidence("FieldsDropped", &expected);
    assert!(!certain.contains(&with_istio.name), "{certain}");
    let expected = format!("{dropped} in {}: istio-sidecar-injector, {}", with_istio.name, configuration.name);
    let candidates = wait_for_evidence("FieldsDroppedBySome", &expected);
    assert!(!candidates.contains(&alone.name), "{candidates}");
}

/// kubernetes/kubernetes#128162: the apiserver aborts the request before the last webhook fails open.
#[test]
fn doctor_explains_pods_that_unresponsive_webhooks_block() {
    let server = FaultyWebhook::start(Fault::NoReply);
    let webhooks = (1..=4).map(|number| server.webhook(&format!("dead-{number}.example.com"), &json!({}))).collect();
    let configuration = WebhookConfiguration::new(Scope::new(), "dead", webhooks);
    let namespace = configuration.namespace(&OPTED_IN_ONLY);
    // With timeouts of one second, all fail open.
    let _ = namespace.create(&pod("before")).success();
    assert!(!doctor("TimeoutsExceedDeadline").contains(&namespace.name));
    // Doctor names the namespaces with the largest sum first: it is more than that of the webhooks of other tests.
    let timeout = |index| json!({"op": "replace", "path": format!("/webhooks/{index}/timeoutSeconds"), "value": 30});
    configuration.patch(&Value::from_iter([0, 1, 2, 3].map(timeout)).to_string());
    eventually(TIMEOUT, "the request exceeds the apiserver's deadline", || {
        let created = namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &pod("train"));
        let is_aborted = created.stderr.contains("request did not complete within requested timeout");
        if is_aborted { Ok(()) } else { Err(created.stderr) }
    });
    let expected = format!("{}: 120 s: dead-1.example.com 30 s, dead-2.example.com 30 s", namespace.name);
    wait_for_evidence("TimeoutsExceedDeadline", &expected);
    wait_for_evidence("FieldsTimedOut", &format!("{}: {}", namespace.name, configuration.name));
}

/// Name of the container that the copying webhook adds.
const PREFLIGHT: &str = "preflight";

/// Adds a container that checks the network before the application starts, with the application's NCCL settings, or updates
/// its settings (NVIDIA/NVSentinel, preflight).
fn with_preflight(pod: &Value) -> Value {
    let containers = pod["spec"]["containers"].as_array().expect("containers");
    let env: Vec<&Value> =
        containers[0]["env"].as_array().into_iter().flatten().filter(|entry| is_nccl(entry)).collect();
    let listed = pod["spec"]["initContainers"].as_array();
    let known = listed.and_then(|list| list.iter().position(|container| container["name"] == PREFLIGHT));
    let container = json!({"name": PREFLIGHT, "image": "trainmesh.test/busybox:1", "env": env});
    match known {
        Some(index) if listed.is_some_and(|list| same_env(&list[index]["env"], &container["env"])) => json!([]),
        Some(index) => json!([{"op": "add", "path": format!("/spec/initContainers/{index}/env"), "value": env}]),
        None if listed.is_some() => json!([{"op": "add", "path": "/spec/initContainers/-", "value": container}]),
        None => json!([{"op": "add", "path": "/spec/initContainers", "value": [container]}]),
    }
}

fn is_nccl(entry: &Value) -> bool {
    entry["name"].as_str().is_some_and(|name| name.starts_with("NCCL_"))
}

/// Compares lists of variables. The apiserver omits an empty one.
fn same_env(a: &Value, b: &Value) -> bool {
    let entries = |list: &Value| list.as_array().cloned().unwrap_or_default();
    entries(a) == entries(b)
}

/// Webhooks with `IfNeeded` are called once more, because built-in plugins change the new container, too.
#[rstest]
#[case::copies_after("nvsentinel", "Never", &[("trainmesh", 0, true), ("copy", 0, true), ("trainmesh", 1, false)], true)]
#[case::copies_after_and_again(
    "nvsentinel",
    "IfNeeded",
    &[("trainmesh", 0, true), ("copy", 0, true), ("trainmesh", 1, false), ("copy", 1, false)],
    true
)]
#[case::copies_before_and_again(
    "0-copy",
    "IfNeeded",
    &[("copy", 0, true), ("trainmesh", 0, true), ("copy", 1, true), ("trainmesh", 1, false)],
    true
)]
#[case::copies_only_before("0-copy", "Never", &[("copy", 0, true), ("trainmesh", 0, true), ("trainmesh", 1, false)], false)]
fn settings_reach_containers_that_copy_them(
    #[case] name: &str,
    #[case] policy: &str,
    #[case] expected: &[(&str, u32, bool)],
    #[case] is_copied: bool,
) {
    let webhook = Webhook::start();
    let server = FaultyWebhook::start(Fault::Patch(with_preflight));
    let copy = server.webhook("preflight.example.com", &json!({"reinvocationPolicy": policy}));
    // The same namespaces as those of trainmesh.
    let scope = Scope(webhook.configuration.label().1.to_owned());
    let copying = WebhookConfiguration::new(scope, name, vec![copy]);
    let namespace = webhook.namespace(&[OPTED_IN_ONLY[0], ("trainmesh.dev/fabric", "tcp")]);
    let mut train = pod("train");
    train["spec"]["containers"][0]["resources"] = json!({"limits": {"nvidia.com/gpu": 1}});
    let _ = namespace.create(&train).success();
    let created = namespace.get("pod", "train").expect("the pod was created");
    let nccl = |container: &Value| -> Map<String, Value> {
        let env = container["env"].as_array().into_iter().flatten().filter(|entry| is_nccl(entry));
        env.map(|entry| (entry["name"].as_str().unwrap_or_default().to_owned(), entry["value"].clone())).collect()
    };
    let settings = nccl(&created["spec"]["containers"][0]);
    assert_eq!(settings["NCCL_NET"], "Socket", "{settings:?}");
    let expected_copy = if is_copied { settings } else { Map::new() };
    assert_eq!(nccl(&created["spec"]["initContainers"][0]), expected_copy);
    let request = creation(&namespace, "train");
    let alias = |configuration: &str| if configuration == copying.name { "copy" } else { "trainmesh" };
    let called = calls(&request);
    let called: Vec<_> = called.iter().map(|call| (alias(&call.configuration), call.round, call.mutated)).collect();
    assert_eq!(called, expected);
}

/// The reason for FP057: the injector adds a proxy with limits, and leaves those of the pod as they are.
#[rstest]
#[case::fits("500m", true)]
#[case::exceeds("2", false)]
fn limits_of_the_pod_must_cover_those_of_the_proxy(#[case] limit: &str, #[case] is_created: bool) {
    let namespace = Cluster::get().namespace(&[]);
    let mut limited = pod("train");
    limited["spec"]["resources"] = json!({"limits": {"cpu": "1"}});
    let proxy =
        json!({"name": "istio-proxy", "image": "trainmesh.test/busybox:1", "resources": {"limits": {"cpu": limit}}});
    limited["spec"]["containers"].as_array_mut().expect("containers").push(proxy);
    let created = namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &limited);
    assert_eq!(created.status.success(), is_created, "{}", created.stderr);
    assert!(is_created || created.stderr.contains("must be less than or equal to"), "{}", created.stderr);
}
