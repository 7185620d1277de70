//! Checks the admission webhooks of others that the apiserver calls for pods: their timeouts, and fields that they drop.

mod fields;
mod timeouts;

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations};

pub(super) use fields::check as check_fields;
pub use fields::{control_namespaces, namespaces_to_probe, probe_pod, read_probe};
pub(super) use timeouts::check as check_timeouts;

use super::istio::selects;

/// Suffix of the names of trainmesh's own webhooks.
const OWN: &str = ".trainmesh.dev";

type Labels = BTreeMap<String, String>;

/// Returns the webhooks of `configurations` that the apiserver calls for a new pod without labels in a namespace with
/// `labels`, in order, each with the name of its configuration. Match conditions are taken to match.
fn called_for_pods<'a>(
    configurations: &'a [MutatingWebhookConfiguration],
    labels: &'a Labels,
) -> impl Iterator<Item = (&'a str, &'a MutatingWebhook)> {
    configurations.iter().flat_map(move |configuration| {
        let name = configuration.metadata.name.as_deref().unwrap_or_default();
        let webhooks = configuration.webhooks.iter().flatten().filter(|webhook| is_called(webhook, labels));
        webhooks.map(move |webhook| (name, webhook))
    })
}

fn is_called(webhook: &MutatingWebhook, labels: &Labels) -> bool {
    webhook.rules.iter().flatten().any(matches_new_pods)
        && selects(webhook.namespace_selector.as_ref(), labels)
        && selects(webhook.object_selector.as_ref(), &Labels::new())
}

fn matches_new_pods(rule: &RuleWithOperations) -> bool {
    let contains =
        |list: &Option<Vec<String>>, wanted: &[&str]| list.iter().flatten().any(|item| wanted.contains(&item.as_str()));
    contains(&rule.operations, &["*", "CREATE"])
        && contains(&rule.api_groups, &["*", ""])
        && contains(&rule.api_versions, &["*", "v1"])
        && contains(&rule.resources, &["*", "*/*", "pods"])
        && rule.scope.as_deref() != Some("Cluster")
}

#[cfg(test)]
mod testing {
    use serde_json::{Value, json};

    use super::super::testing::webhook_configurations;
    use super::*;

    /// Returns a configuration with one webhook for pods in namespaces with the label `team: a`.
    pub(super) fn webhook(name: &str, fields: &Value) -> Value {
        let mut webhook = json!({"name": format!("{name}.example.com"), "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1/"},
            "namespaceSelector": {"matchLabels": {"team": "a"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]});
        if let (Value::Object(webhook), Value::Object(fields)) = (&mut webhook, fields) {
            webhook.extend(fields.clone());
        }
        json!({"metadata": {"name": name}, "webhooks": [webhook]})
    }

    #[test]
    fn rules_and_selectors_decide_which_webhooks_are_called() {
        let rule = |fields: Value| {
            let mut rule = json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]});
            if let (Value::Object(rule), Value::Object(fields)) = (&mut rule, fields) {
                rule.extend(fields);
            }
            json!({"rules": [rule]})
        };
        let all = webhook_configurations(&[
            webhook("called", &json!({})),
            webhook("everything", &rule(json!({}))),
            webhook("updates", &rule(json!({"operations": ["UPDATE"]}))),
            webhook("jobs", &rule(json!({"apiGroups": ["batch"]}))),
            webhook("status", &rule(json!({"resources": ["pods/status"]}))),
            webhook("cluster", &rule(json!({"scope": "Cluster"}))),
            webhook("other-namespaces", &json!({"namespaceSelector": {"matchLabels": {"team": "b"}}})),
            webhook("labeled-pods", &json!({"objectSelector": {"matchLabels": {"app": "a"}}})),
        ]);
        let labels = Labels::from([("team".to_owned(), "a".to_owned())]);
        let called: Vec<&str> = called_for_pods(&all, &labels).map(|(name, _)| name).collect();
        assert_eq!(called, ["called", "everything"]);
    }
}
