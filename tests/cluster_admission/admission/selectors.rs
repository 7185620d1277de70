//! Which webhook is asked about a pod: the apiserver's selectors alone decide, and choose at most one.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually, list};
use trainmesh_testing::pods::{creation, held, pod};
use trainmesh_testing::webhook::{Registration, Webhook, calls};

const INJECT: (&str, &str) = ("trainmesh.dev/inject", "enabled");
const AUDIT: (&str, &str) = ("trainmesh.dev/inject", "audit");
const OTHER: (&str, &str) = ("trainmesh.dev/inject", "disabled");
const ISTIO_AUX: (&str, &str) = ("io.datastrophic/istio-aux", "enabled");
const INJECTED: (&str, &str) = ("istio-injection", "enabled");

#[rstest]
#[case::opted_in(&[INJECT], json!({}), Some("inject.trainmesh.dev"))]
#[case::rehearsal(&[AUDIT], json!({}), Some("audit.trainmesh.dev"))]
#[case::istio_aux(&[ISTIO_AUX], json!({}), Some("istio-aux.trainmesh.dev"))]
#[case::both_labels(&[INJECT, ISTIO_AUX], json!({}), Some("inject.trainmesh.dev"))]
#[case::rehearsal_beats_istio_aux(&[AUDIT, ISTIO_AUX], json!({}), Some("audit.trainmesh.dev"))]
#[case::any_value_of_ours_beats_istio_aux(&[OTHER, ISTIO_AUX], json!({}), None)]
#[case::istio_aux_with_another_value(&[("io.datastrophic/istio-aux", "disabled")], json!({}), None)]
#[case::unlabelled(&[], json!({}), None)]
#[case::pod_opts_out(&[INJECT], json!({"trainmesh.dev/inject": "disabled"}), None)]
#[case::pod_opts_out_of_rehearsal(&[AUDIT], json!({"trainmesh.dev/inject": "disabled"}), None)]
#[case::pod_opts_out_of_istio_aux(&[ISTIO_AUX], json!({"trainmesh.dev/inject": "disabled"}), None)]
#[case::pod_cannot_opt_in(&[], json!({"trainmesh.dev/inject": "enabled"}), None)]
fn one_webhook_or_none(#[case] labels: &[(&str, &str)], #[case] pod_labels: Value, #[case] expected: Option<&str>) {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[labels, &[INJECTED]].concat());
    let mut pod = pod("train");
    pod["metadata"]["labels"] = pod_labels;
    let _ = namespace.create(&pod).success();
    check(&webhook, &namespace, "train", expected);
}

/// The mode shows in the pod; the apiserver's audit log and our own log agree on who was asked.
fn check(webhook: &Webhook, namespace: &Namespace, name: &str, expected: Option<&str>) {
    let request = creation(namespace, name);
    assert_eq!(
        asked(&webhook.registration, &request),
        expected.map(|webhook| vec![webhook.to_owned()]).unwrap_or_default()
    );
    let logged = webhook.process.log().iter().filter(|event| event["namespace"] == *namespace.name).count();
    // A second round follows where the mesh has changed the pod after us.
    assert_eq!(logged > 0, expected.is_some(), "{logged} reviews");
    let patched = matches!(expected, Some("inject.trainmesh.dev" | "istio-aux.trainmesh.dev"));
    assert_eq!(held(&request["responseObject"]), patched, "{}", request["responseObject"]["metadata"]);
}

/// The webhooks of `registration` that were asked, each once.
fn asked(registration: &Registration, request: &Value) -> Vec<String> {
    let calls = calls(request).into_iter().filter(|call| call.configuration == registration.name);
    let mut webhooks: Vec<String> = calls.map(|call| call.webhook).collect();
    webhooks.dedup();
    webhooks
}

#[test]
fn a_label_that_comes_later_counts_from_then_on() {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[INJECTED]);
    let _ = namespace.create(&pod("before")).success();
    check(&webhook, &namespace, "before", None);
    let label = format!("{}={}", INJECT.0, INJECT.1);
    let _ = Cluster::get().kubectl(&["label", "namespace", &namespace.name, &label], "").success();
    // The apiserver reads labels of namespaces from a watch.
    eventually(PATIENCE, "new pods are patched", || {
        let created = namespace.kubectl(&["create", "--dry-run=server", "-o", "json", "-f", "-"], &pod("after"));
        if held(&created.object()) { Ok(()) } else { Err(created.stdout) }
    });
    let _ = namespace.create(&pod("after")).success();
    check(&webhook, &namespace, "after", Some("inject.trainmesh.dev"));
    let before = namespace.get("pod", "before").expect("the pod is still there");
    assert!(!held(&before), "an existing pod is not touched");
}

#[test]
fn system_namespaces_are_never_served() {
    let webhook = Webhook::start();
    let witness = webhook.namespace(&[]);
    let (scope, value) = webhook.registration.label();
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
    let _ =
        Cluster::get().kubectl(&["label", "namespace", &witness.name, "trainmesh.dev/inject=enabled"], "").success();
    // The watch brings changes in their order: when the label of the witness counts, those of the others do.
    eventually(PATIENCE, "the witness is served", || {
        let _ = witness.kubectl(&["create", "--dry-run=server", "-f", "-"], &pod("witness")).success();
        if asked(&webhook.registration, &creation(&witness, "witness")).is_empty() { Err("nobody") } else { Ok(()) }
    });
    for name in ["kube-system", "trainmesh-system"] {
        let create = ["create", "--dry-run=server", "--namespace", name, "-f", "-"];
        let _ = Cluster::get().kubectl(&create, &pod(&webhook.registration.name)).success();
        let requests = eventually(PATIENCE, "the request stands in the audit log", || {
            let found = audit.events(&webhook.registration.name, |event| {
                event["objectRef"]["namespace"] == name && event["objectRef"]["resource"] == "pods"
            });
            if found.is_empty() { Err("nothing of it") } else { Ok(found) }
        });
        for request in requests {
            assert_eq!(asked(&webhook.registration, &request), [""; 0], "{name}: {}", request["annotations"]);
        }
    }
}
