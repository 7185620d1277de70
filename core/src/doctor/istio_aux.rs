//! What datastrophic/istio-aux has left: its webhook is called after ours and writes pods anew from old types.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{Code, Found, several};
use crate::{keys, objects};

/// In the name of its configuration, whatever a kustomization puts before it.
const NAME: &str = "istio-aux";

pub(super) fn check(all: &[MutatingWebhookConfiguration]) -> Vec<Found> {
    let theirs = all.iter().filter_map(|it| {
        let name = it.metadata.name.as_deref()?;
        let webhooks = it.webhooks.as_deref().unwrap_or_default();
        let theirs = name.contains(NAME) || webhooks.iter().any(serves_its_label);
        (theirs && name != objects::WEBHOOK_CONFIGURATION).then_some(name)
    });
    match several(theirs) {
        none if none.is_empty() => vec![(Code::IstioAuxAbsent, none)],
        names => vec![(Code::IstioAuxRegistered, names)],
    }
}

/// Whether only namespaces of its label are served, by a webhook that is not ours under another name.
fn serves_its_label(webhook: &MutatingWebhook) -> bool {
    let labels = webhook.namespace_selector.as_ref().and_then(|selector| selector.match_labels.as_ref());
    labels.is_some_and(|labels| labels.contains_key(keys::ISTIO_AUX)) && !webhook.name.ends_with(".trainmesh.dev")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::testing::{injector, ours, registrations};
    use super::*;

    fn theirs(name: &str) -> Value {
        json!({"metadata": {"name": name}, "webhooks": [{"name": "mpod.kb.io", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {},
            "namespaceSelector": {"matchLabels": {"io.datastrophic/istio-aux": "enabled", "istio-injection": "enabled"}}}]})
    }

    #[rstest]
    #[case::ours_and_istio(&[ours(), injector("istio-sidecar-injector")], (Code::IstioAuxAbsent, ""))]
    #[case::its_manifests(&[ours(), theirs("istio-aux-mutating-webhook-configuration")], (Code::IstioAuxRegistered, "istio-aux-mutating-webhook-configuration"))]
    #[case::renamed(&[theirs("mutating-webhook-configuration")], (Code::IstioAuxRegistered, "mutating-webhook-configuration"))]
    #[case::emptied(&[json!({"metadata": {"name": "my-istio-aux"}})], (Code::IstioAuxRegistered, "my-istio-aux"))]
    fn registered(#[case] all: &[Value], #[case] expected: (Code, &str)) {
        assert_eq!(check(&registrations(all)), [(expected.0, expected.1.to_owned())]);
    }
}
