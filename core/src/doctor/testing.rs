//! Webhook configurations for the tests of the checks.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use serde_json::{Value, json};

/// Returns the webhook configuration of trainmesh, `config/webhook-configuration.yaml`.
pub(super) fn own_configuration() -> Value {
    crate::yaml::parse(include_str!("../../../config/webhook-configuration.yaml")).unwrap()
}

/// Returns an injection configuration of Istio as its chart creates it, reduced to the selectors.
pub(super) fn injector(name: &str) -> Value {
    let webhook = |name: &str, namespaces: Value, pods: Value| {
        json!({"name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"namespace": "istio-system", "name": "istiod", "path": "/inject"}},
            "namespaceSelector": {"matchExpressions": namespaces}, "objectSelector": {"matchExpressions": pods}})
    };
    let absent = |key: &str| json!({"key": key, "operator": "DoesNotExist"});
    let not_false = json!([{"key": "sidecar.istio.io/inject", "operator": "NotIn", "values": ["false"]}]);
    let is_true = json!([{"key": "sidecar.istio.io/inject", "operator": "In", "values": ["true"]}]);
    let revision = json!({"key": "istio.io/rev", "operator": "In", "values": ["default"]});
    let enabled = json!({"key": "istio-injection", "operator": "In", "values": ["enabled"]});
    json!({"metadata": {"name": name, "labels": {"istio.io/rev": "default"}}, "webhooks": [
        webhook("rev.namespace.sidecar-injector.istio.io", json!([revision, absent("istio-injection")]), not_false.clone()),
        webhook("namespace.sidecar-injector.istio.io", json!([enabled]), not_false),
        webhook("object.sidecar-injector.istio.io", json!([absent("istio-injection"), absent("istio.io/rev")]), is_true),
    ]})
}

/// Decodes manifests.
pub(super) fn webhook_configurations(all: &[Value]) -> Vec<MutatingWebhookConfiguration> {
    all.iter().map(|object| serde_json::from_value(object.clone()).unwrap()).collect()
}
