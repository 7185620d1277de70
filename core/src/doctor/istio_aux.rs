//! Checks for datastrophic/istio-aux: its webhook is called later and drops pod fields that its old types lack.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{CheckFinding, Code, join_names};
use crate::{keys, objects};

/// Part of the name of its webhook configuration; kustomize may add a prefix.
const NAME: &str = "istio-aux";

pub(super) fn check(all: &[MutatingWebhookConfiguration]) -> Vec<CheckFinding> {
    let installed = all.iter().filter_map(|configuration| {
        let name = configuration.metadata.name.as_deref()?;
        let webhooks = configuration.webhooks.as_deref().unwrap_or_default();
        let matches = name.contains(NAME) || webhooks.iter().any(selects_istio_aux_label);
        (matches && name != objects::WEBHOOK_CONFIGURATION).then_some(name)
    });
    match join_names(installed) {
        none if none.is_empty() => vec![(Code::IstioAuxAbsent, none)],
        names => vec![(Code::IstioAuxRegistered, names)],
    }
}

/// Returns true if a webhook that is not part of trainmesh selects namespaces by the label of istio-aux.
fn selects_istio_aux_label(webhook: &MutatingWebhook) -> bool {
    let labels = webhook.namespace_selector.as_ref().and_then(|selector| selector.match_labels.as_ref());
    labels.is_some_and(|labels| labels.contains_key(keys::ISTIO_AUX)) && !webhook.name.ends_with(".trainmesh.dev")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::testing::{injector, own_configuration, webhook_configurations};
    use super::*;

    fn istio_aux(name: &str) -> Value {
        json!({"metadata": {"name": name}, "webhooks": [{"name": "mpod.kb.io", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {},
            "namespaceSelector": {"matchLabels": {"io.datastrophic/istio-aux": "enabled", "istio-injection": "enabled"}}}]})
    }

    #[rstest]
    #[case::trainmesh_and_istio(&[own_configuration(), injector("istio-sidecar-injector")], (Code::IstioAuxAbsent, ""))]
    #[case::installed(&[own_configuration(), istio_aux("istio-aux-mutating-webhook-configuration")], (Code::IstioAuxRegistered, "istio-aux-mutating-webhook-configuration"))]
    #[case::renamed(&[istio_aux("mutating-webhook-configuration")], (Code::IstioAuxRegistered, "mutating-webhook-configuration"))]
    #[case::without_webhooks(&[json!({"metadata": {"name": "my-istio-aux"}})], (Code::IstioAuxRegistered, "my-istio-aux"))]
    fn detects_istio_aux(#[case] all: &[Value], #[case] expected: (Code, &str)) {
        assert_eq!(check(&webhook_configurations(all)), [(expected.0, expected.1.to_owned())]);
    }
}
