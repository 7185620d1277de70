//! Which webhook is called for a pod: the apiserver's selectors alone decide, and match at most one.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::pods::{creation, has_hold, pod};
use trainmesh_testing::webhook::{Webhook, WebhookConfiguration, calls};

const INJECT: (&str, &str) = ("trainmesh.dev/inject", "enabled");
const AUDIT: (&str, &str) = ("trainmesh.dev/inject", "audit");
const OTHER: (&str, &str) = ("trainmesh.dev/inject", "disabled");
const ISTIO_AUX: (&str, &str) = ("io.datastrophic/istio-aux", "enabled");
const INJECTED: (&str, &str) = ("istio-injection", "enabled");

#[rstest]
#[case::opted_in(&[INJECT], json!({}), Some("inject.trainmesh.dev"))]
#[case::audit(&[AUDIT], json!({}), Some("audit.trainmesh.dev"))]
#[case::istio_aux(&[ISTIO_AUX], json!({}), Some("istio-aux.trainmesh.dev"))]
#[case::both_labels(&[INJECT, ISTIO_AUX], json!({}), Some("inject.trainmesh.dev"))]
#[case::audit_takes_precedence_over_istio_aux(&[AUDIT, ISTIO_AUX], json!({}), Some("audit.trainmesh.dev"))]
#[case::any_inject_label_takes_precedence_over_istio_aux(&[OTHER, ISTIO_AUX], json!({}), None)]
#[case::istio_aux_with_another_value(&[("io.datastrophic/istio-aux", "disabled")], json!({}), None)]
#[case::unlabelled(&[], json!({}), None)]
#[case::pod_opts_out(&[INJECT], json!({"trainmesh.dev/inject": "disabled"}), None)]
#[case::pod_opts_out_of_audit(&[AUDIT], json!({"trainmesh.dev/inject": "disabled"}), None)]
#[case::pod_opts_out_of_istio_aux(&[ISTIO_AUX], json!({"trainmesh.dev/inject": "disabled"}), None)]
#[case::pod_cannot_opt_in(&[], json!({"trainmesh.dev/inject": "enabled"}), None)]
fn at_most_one_webhook_is_called(
    #[case] labels: &[(&str, &str)],
    #[case] pod_labels: Value,
    #[case] expected: Option<&str>,
) {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[labels, &[INJECTED]].concat());
    let mut pod = pod("train");
    pod["metadata"]["labels"] = pod_labels;
    let _ = namespace.create(&pod).success();
    check(&webhook, &namespace, "train", expected);
}

/// Checks the mode by the pod, and the called webhook by the apiserver's audit log and the webhook's own log.
fn check(webhook: &Webhook, namespace: &Namespace, name: &str, expected: Option<&str>) {
    let request = creation(namespace, name);
    assert_eq!(
        called(&webhook.configuration, &request),
        expected.map(|webhook| vec![webhook.to_owned()]).unwrap_or_default()
    );
    let is_logged = || webhook.process.log().iter().any(|event| event["namespace"] == *namespace.name);
    if expected.is_some() {
        eventually(TIMEOUT, "the review is logged", || if is_logged() { Ok(()) } else { Err("no review") });
    }
    assert_eq!(is_logged(), expected.is_some());
    let patched = matches!(expected, Some("inject.trainmesh.dev" | "istio-aux.trainmesh.dev"));
    assert_eq!(has_hold(&request["responseObject"]), patched, "{}", request["responseObject"]["metadata"]);
}

/// Returns the distinct webhooks of `configuration` that were called.
fn called(configuration: &WebhookConfiguration, request: &Value) -> Vec<String> {
    let calls = calls(request).into_iter().filter(|call| call.configuration == configuration.name);
    let mut webhooks: Vec<String> = calls.map(|call| call.webhook).collect();
    webhooks.dedup();
    webhooks
}

#[test]
fn a_label_added_later_affects_new_pods() {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[INJECTED]);
    let _ = namespace.create(&pod("before")).success();
    check(&webhook, &namespace, "before", None);
    let label = format!("{}={}", INJECT.0, INJECT.1);
    let _ = Cluster::get().kubectl(&["label", "namespace", &namespace.name, &label], "").success();
    // The apiserver reads namespace labels from a watch.
    eventually(TIMEOUT, "new pods are patched", || {
        let created = namespace.create_dry_run(&pod("after")).map_err(|error| error.to_string())?;
        if has_hold(&created) { Ok(()) } else { Err(created.to_string()) }
    });
    let _ = namespace.create(&pod("after")).success();
    check(&webhook, &namespace, "after", Some("inject.trainmesh.dev"));
    let before = namespace.get("pod", "before").expect("the pod is still there");
    assert!(!has_hold(&before), "an existing pod must not be changed");
}

#[test]
fn system_namespaces_are_never_matched() {
    let webhook = Webhook::start();
    let probe = webhook.namespace(&[]);
    let (scope, value) = webhook.configuration.label();
    for name in ["kube-system", "trainmesh-system"] {
        let labels = json!({scope: value, INJECT.0: INJECT.1, ISTIO_AUX.0: ISTIO_AUX.1});
        let objects = [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}),
        ];
        let manager = ["apply", "--server-side", "--force-conflicts", "--field-manager=test-admission", "-f", "-"];
        let _ = Cluster::get().kubectl(&manager, &list(objects)).success();
    }
    let audit = Cluster::get().audit_from_now();
    let _ = Cluster::get().kubectl(&["label", "namespace", &probe.name, "trainmesh.dev/inject=enabled"], "").success();
    // Watch events arrive in order: once the probe namespace's label counts, so do the others'.
    eventually(TIMEOUT, "the probe namespace is matched", || {
        let _ = probe.kubectl(&["create", "--dry-run=server", "-f", "-"], &pod("probe")).success();
        if called(&webhook.configuration, &creation(&probe, "probe")).is_empty() {
            Err("no webhook was called")
        } else {
            Ok(())
        }
    });
    for name in ["kube-system", "trainmesh-system"] {
        let create = ["create", "--dry-run=server", "--namespace", name, "-f", "-"];
        let _ = Cluster::get().kubectl(&create, &pod(&webhook.configuration.name)).success();
        let requests = eventually(TIMEOUT, "the audit log contains the request", || {
            let found = audit.events(&webhook.configuration.name, |event| {
                event["objectRef"]["namespace"] == name && event["objectRef"]["resource"] == "pods"
            });
            if found.is_empty() { Err("no event") } else { Ok(found) }
        });
        for request in requests {
            assert_eq!(called(&webhook.configuration, &request), [""; 0], "{name}: {}", request["annotations"]);
        }
    }
}
