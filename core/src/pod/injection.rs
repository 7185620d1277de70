//! Whether Istio will put a proxy into a pod, by the rules of its webhook registrations and of its injector.
//!
//! The order of precedence is Istio's: the registrations' selectors decide whether the injector is called at all
//! (`istio-injection` beats `istio.io/rev`, and both beat the pod's labels in a namespace without them), then the
//! injector looks at `hostNetwork`, at the pod's label and at the deprecated annotation of the same name.

use std::collections::BTreeMap;

use super::Pod;
use crate::keys;

/// Namespaces that the injector ignores whatever their labels say.
const IGNORED_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "local-path-storage"];

/// What Istio will do with a pod that has no proxy yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// A proxy will be added.
    Expected,
    /// None will be.
    NotExpected(NotInjected),
}

/// Why no proxy will be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInjected {
    /// The pod shares its node's network.
    HostNetwork,
    /// The pod's label `sidecar.istio.io/inject` or its annotation says `false`.
    PodOptedOut,
    /// The namespace carries `istio-injection` with another value than `enabled`.
    NamespaceOptedOut,
    /// Neither namespace nor pod asks for injection.
    NotRequested,
    /// The namespace or the pod is in the ambient mesh, which needs no sidecar.
    Ambient,
    /// The injector leaves this namespace alone.
    SystemNamespace,
}

/// Decides whether Istio will inject `pod`, created in `namespace` that carries `labels`.
#[must_use]
pub fn injection(pod: Pod<'_>, namespace: &str, labels: &BTreeMap<String, String>) -> Injection {
    match refusal(pod, namespace, labels) {
        None => Injection::Expected,
        Some(why) => Injection::NotExpected(why),
    }
}

fn refusal(pod: Pod<'_>, namespace: &str, labels: &BTreeMap<String, String>) -> Option<NotInjected> {
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
        None if ambient(pod, labels) => return Some(NotInjected::Ambient),
        None => return Some(NotInjected::NotRequested),
    }
    // The label is the newer form: with it the annotation is not read, and a value that is neither `true` nor
    // `false` falls back to the policy, which is to inject.
    if pod_label.is_none() && pod.annotation(keys::SIDECAR_INJECT) == Some("false") {
        return Some(NotInjected::PodOptedOut);
    }
    None
}

fn ambient(pod: Pod<'_>, labels: &BTreeMap<String, String>) -> bool {
    let namespace = labels.get(keys::DATAPLANE_MODE).map(String::as_str);
    pod.label(keys::DATAPLANE_MODE).or(namespace) == Some("ambient")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const EXPECTED: Injection = Injection::Expected;
    const fn no(why: NotInjected) -> Injection {
        Injection::NotExpected(why)
    }

    #[rstest]
    #[case::namespace_enabled(json!({"istio-injection": "enabled"}), json!({}), EXPECTED)]
    #[case::namespace_disabled(json!({"istio-injection": "disabled"}), json!({}), no(NotInjected::NamespaceOptedOut))]
    #[case::disabled_beats_revision(json!({"istio-injection": "disabled", "istio.io/rev": "canary"}), json!({}), no(NotInjected::NamespaceOptedOut))]
    #[case::disabled_beats_the_pods_label(json!({"istio-injection": "disabled"}), json!({"labels": {"sidecar.istio.io/inject": "true"}}), no(NotInjected::NamespaceOptedOut))]
    #[case::revision(json!({"istio.io/rev": "canary"}), json!({}), EXPECTED)]
    #[case::nothing(json!({}), json!({}), no(NotInjected::NotRequested))]
    #[case::pod_label_alone(json!({}), json!({"labels": {"sidecar.istio.io/inject": "true"}}), EXPECTED)]
    #[case::pod_revision_alone(json!({}), json!({"labels": {"istio.io/rev": "canary"}}), EXPECTED)]
    #[case::pod_annotation_alone(json!({}), json!({"annotations": {"sidecar.istio.io/inject": "true"}}), no(NotInjected::NotRequested))]
    #[case::label_false(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "false"}}), no(NotInjected::PodOptedOut))]
    #[case::annotation_false(json!({"istio-injection": "enabled"}), json!({"annotations": {"sidecar.istio.io/inject": "false"}}), no(NotInjected::PodOptedOut))]
    #[case::label_true_beats_annotation_false(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "true"}, "annotations": {"sidecar.istio.io/inject": "false"}}), EXPECTED)]
    #[case::label_false_beats_annotation_true(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "false"}, "annotations": {"sidecar.istio.io/inject": "true"}}), no(NotInjected::PodOptedOut))]
    #[case::odd_label_falls_back(json!({"istio-injection": "enabled"}), json!({"labels": {"sidecar.istio.io/inject": "no"}, "annotations": {"sidecar.istio.io/inject": "false"}}), EXPECTED)]
    #[case::ambient_namespace(json!({"istio.io/dataplane-mode": "ambient"}), json!({}), no(NotInjected::Ambient))]
    #[case::ambient_namespace_pod_out(json!({"istio.io/dataplane-mode": "ambient"}), json!({"labels": {"istio.io/dataplane-mode": "none"}}), no(NotInjected::NotRequested))]
    #[case::sidecar_beats_ambient(json!({"istio.io/dataplane-mode": "ambient", "istio-injection": "enabled"}), json!({}), EXPECTED)]
    fn precedence(#[case] labels: Value, #[case] metadata: Value, #[case] expected: Injection) {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        let raw = json!({"metadata": metadata, "spec": {"containers": []}});
        assert_eq!(injection(Pod::new(&raw), "team-a", &labels), expected);
        let raw = json!({"metadata": metadata, "spec": {"hostNetwork": true}});
        if expected == EXPECTED {
            assert_eq!(injection(Pod::new(&raw), "team-a", &labels), no(NotInjected::HostNetwork));
        }
        let raw = json!({"metadata": metadata});
        assert_eq!(injection(Pod::new(&raw), "kube-system", &labels), no(NotInjected::SystemNamespace));
    }
}
