//! Predicts whether Istio will inject a proxy into a pod, by the rules of its webhook configurations and of its
//! injector.
//!
//! The order of precedence is Istio's. The selectors of the webhook configurations decide whether the injector is
//! called: `istio-injection` takes precedence over `istio.io/rev`, and both over the pod's labels. Then the injector
//! checks `hostNetwork`, the pod's label, and the deprecated annotation of the same name.

use std::collections::BTreeMap;

use super::Pod;
use crate::keys;

/// Namespaces that the injector always ignores.
const IGNORED_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "local-path-storage"];

/// Prediction whether Istio will inject a proxy into a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// Istio will inject a proxy.
    Expected,
    /// Istio will not inject a proxy.
    NotExpected(NotInjected),
}

/// Reason why Istio does not inject a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInjected {
    /// The pod uses the network of its node.
    HostNetwork,
    /// The pod's label or annotation `sidecar.istio.io/inject` is `false`.
    PodOptedOut,
    /// The namespace has the label `istio-injection` with a value other than `enabled`.
    NamespaceOptedOut,
    /// Neither the namespace nor the pod requests injection.
    NotRequested,
    /// The namespace or the pod is in the ambient mesh, which needs no sidecar.
    Ambient,
    /// The injector ignores the namespace.
    SystemNamespace,
}

/// Predicts whether Istio will inject `pod`. `labels` are those of `namespace`.
#[must_use]
pub fn predict_injection(pod: Pod<'_>, namespace: &str, labels: &BTreeMap<String, String>) -> Injection {
    match not_injected_reason(pod, namespace, labels) {
        None => Injection::Expected,
        Some(reason) => Injection::NotExpected(reason),
    }
}

fn not_injected_reason(pod: Pod<'_>, namespace: &str, labels: &BTreeMap<String, String>) -> Option<NotInjected> {
    if IGNORED_NAMESPACES.contains(&namespace) {
        return Some(NotInjected::SystemNamespace);
    }
    if pod.host_network() {
        return Some(NotInjected::HostNetwork);
    }
    let pod_label = pod.label(keys::SIDECAR_INJECT);
    if pod_label == Some("false") {
        return Some(NotInjected::PodOptedOut);
    }
    match labels.get(keys::ISTIO_INJECTION).map(String::as_str) {
        Some("enabled") => {}
        Some(_) => return Some(NotInjected::NamespaceOptedOut),
        None if labels.contains_key(keys::ISTIO_REVISION) => {}
        None if pod_label == Some("true") || pod.label(keys::ISTIO_REVISION).is_some() => {}
        None if is_ambient(pod, labels) => return Some(NotInjected::Ambient),
        None => return Some(NotInjected::NotRequested),
    }
    // If the newer label exists, the injector ignores the annotation. Since Istio 1.27, a label that is neither `true` nor
    // `false` falls back to the injector's policy, which is to inject.
    if pod_label.is_none() && pod.annotation(keys::SIDECAR_INJECT) == Some("false") {
        return Some(NotInjected::PodOptedOut);
    }
    None
}

/// Returns true if ztunnel captures the traffic of the pod. Only the value `none` excludes a pod of a namespace.
fn is_ambient(pod: Pod<'_>, labels: &BTreeMap<String, String>) -> bool {
    let namespace = labels.get(keys::DATAPLANE_MODE).map(String::as_str);
    match pod.label(keys::DATAPLANE_MODE) {
        Some("none") => false,
        own => own == Some("ambient") || namespace == Some("ambient"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const EXPECTED: Injection = Injection::Expected;
    const fn not_expected(reason: NotInjected) -> Injection {
        Injection::NotExpected(reason)
    }

    #[rstest]
    #[case::namespace_enabled(json!({"istio-injection": "enabled"}), json!({}), EXPECTED)]
    #[case::namespace_disabled(json!({"istio-injection": "disabled"}), json!({}), not_expected(NotInjected::NamespaceOptedOut))]
    #[case::disabled_overrides_revision(json!({"istio-injection": "disabled", "istio.io/rev": "canary"}), json!({}), not_expected(NotInjected::NamespaceOptedOut))]
    #[case::disabled_overrides_the_pod_label(json!({"istio-injection": "disabled"}), json!({"labels": {"sidecar.istio.io/inject": "true"}}), not_expected(NotInjected::NamespaceOptedOut))]
    #[case::revision(json!({"istio.io/rev": "canary"}), json!({}), EXPECTED)]
    #[case::nothing(json!({}), json!({}), not_expected(NotInjected::NotRequested))]
    #[case::pod_label_alone(json!({}), json!({"labels": {"sidecar.istio.io/inject": "true"}}), EXPECTED)]
    #[case::pod_revision_alone(json!({}), json!({"labels": {"istio.io/rev": "canary"}}), EXPECTED)]
    #[case::pod_annotation_alone(json!({}), json!({"annotations": {"sidecar.istio.io/inject": "true"}}), not_expected(NotInjected::NotRequested))]
    #[case::label_false(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "false"}}), not_expected(NotInjected::PodOptedOut))]
    #[case::annotation_false(json!({"istio-injection": "enabled"}), json!({"annotations": {"sidecar.istio.io/inject": "false"}}), not_expected(NotInjected::PodOptedOut))]
    #[case::label_true_overrides_annotation_false(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "true"}, "annotations": {"sidecar.istio.io/inject": "false"}}), EXPECTED)]
    #[case::label_false_overrides_annotation_true(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "false"}, "annotations": {"sidecar.istio.io/inject": "true"}}), not_expected(NotInjected::PodOptedOut))]
    #[case::unknown_label_falls_back(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "no"}, "annotations": {"sidecar.istio.io/inject": "false"}}), EXPECTED)]
    #[case::ambient_namespace(json!({"istio.io/dataplane-mode": "ambient"}), json!({}), not_expected(NotInjected::Ambient))]
    #[case::ambient_namespace_pod_opted_out(json!({"istio.io/dataplane-mode": "ambient"}), json!({"labels": {"istio.io/dataplane-mode": "none"}}), not_expected(NotInjected::NotRequested))]
    #[case::ambient_namespace_other_value_of_the_pod(json!({"istio.io/dataplane-mode": "ambient"}), json!({"labels": {"istio.io/dataplane-mode": "None"}}), not_expected(NotInjected::Ambient))]
    #[case::ambient_pod(json!({}), json!({"labels": {"istio.io/dataplane-mode": "ambient"}}), not_expected(NotInjected::Ambient))]
    #[case::pod_in_an_excluded_namespace(json!({"istio.io/dataplane-mode": "none"}), json!({"labels": {"istio.io/dataplane-mode": "ambient"}}), not_expected(NotInjected::Ambient))]
    #[case::sidecar_overrides_ambient(json!({"istio.io/dataplane-mode": "ambient", "istio-injection": "enabled"}), json!({}), EXPECTED)]
    fn precedence_of_labels_and_annotations(
        #[case] labels: Value,
        #[case] metadata: Value,
        #[case] expected: Injection,
    ) {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        let raw = json!({"metadata": metadata, "spec": {"containers": []}});
        assert_eq!(predict_injection(Pod::new(&raw), "team-a", &labels), expected);
        let raw = json!({"metadata": metadata, "spec": {"hostNetwork": true}});
        if expected == EXPECTED {
            assert_eq!(predict_injection(Pod::new(&raw), "team-a", &labels), not_expected(NotInjected::HostNetwork));
        }
        let raw = json!({"metadata": metadata});
        assert_eq!(
            predict_injection(Pod::new(&raw), "kube-system", &labels),
            not_expected(NotInjected::SystemNamespace)
        );
    }
}
