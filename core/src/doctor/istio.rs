//! Checks which webhook configurations of Istio inject, and whether sidecars are native.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_core::{Selector, SelectorExt as _};

use super::{CheckFinding, Code, Istiod, Readable, join_names};
use crate::keys;

/// Name prefixes of Istio's webhook configurations.
const NAME_PREFIXES: [&str; 2] = ["istio-sidecar-injector", "istio-revision-tag"];
/// Suffix of the names of injection webhooks in any configuration.
const WEBHOOK_SUFFIX: &str = "sidecar-injector.istio.io";

pub(super) fn check(all: &[MutatingWebhookConfiguration], istiods: &Readable<Vec<Istiod>>) -> Vec<CheckFinding> {
    let injectors = join_names(all.iter().filter(|configuration| injects(configuration)).map(name_with_revision));
    let mut found =
        vec![if injectors.is_empty() { (Code::InjectorMissing, injectors) } else { (Code::InjectorsSeen, injectors) }];
    found.extend(istiods.evaluate(|istiods| check_native_sidecars(istiods)));
    found
}

/// Returns true if a webhook configuration is one of Istio's that inject sidecars.
pub(super) fn injects(configuration: &MutatingWebhookConfiguration) -> bool {
    let name = configuration.metadata.name.as_deref().unwrap_or_default();
    let mut webhooks = configuration.webhooks.iter().flatten();
    NAME_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || webhooks.any(|webhook| webhook.name.ends_with(WEBHOOK_SUFFIX))
}

/// Returns true if an injection webhook is called for a pod without labels in a namespace with `labels`.
pub(super) fn calls(all: &[MutatingWebhookConfiguration], labels: &BTreeMap<String, String>) -> bool {
    let pod_labels = BTreeMap::new();
    let called = |webhook: &MutatingWebhook| {
        selects(webhook.namespace_selector.as_ref(), labels) && selects(webhook.object_selector.as_ref(), &pod_labels)
    };
    all.iter()
        .filter(|configuration| injects(configuration))
        .flat_map(|configuration| configuration.webhooks.iter().flatten())
        .any(called)
}

/// Returns true if `selector` matches `labels`.
pub(super) fn selects(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return true };
    // The apiserver rejects invalid selectors.
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}

/// Returns the name of a configuration with its revision.
fn name_with_revision(configuration: &MutatingWebhookConfiguration) -> String {
    let metadata = &configuration.metadata;
    let name = metadata.name.as_deref().unwrap_or_default();
    match metadata.labels.as_ref().and_then(|labels| labels.get(keys::ISTIO_REVISION)) {
        Some(revision) => format!("{name} (revision {revision})"),
        None => name.to_owned(),
    }
}

/// Reports the setting for native sidecars of each control plane.
fn check_native_sidecars(istiods: &[Istiod]) -> Vec<CheckFinding> {
    let code = |istiod: &Istiod| match istiod.native.as_deref() {
        Some("true") => Code::NativeOn,
        Some("false") => Code::NativeOff,
        _ => Code::NativeByVersion,
    };
    let found = [Code::NativeOn, Code::NativeOff, Code::NativeByVersion].map(|wanted| {
        let names = istiods.iter().filter(|istiod| code(istiod) == wanted).map(|istiod| &istiod.name);
        (wanted, join_names(names))
    });
    found.into_iter().filter(|(_, names)| !names.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::testing::{injector, own_configuration, webhook_configurations};
    use super::*;

    fn istiod(name: &str, native: Option<&str>) -> Istiod {
        Istiod { name: format!("istio-system/{name}"), native: native.map(str::to_owned) }
    }

    #[rstest]
    #[case::no_mesh(false, vec![], &[(Code::InjectorMissing, "")])]
    #[case::control_plane_elsewhere(true, vec![], &[(Code::InjectorsSeen, "istio-sidecar-injector (revision default)")])]
    #[case::each_setting(
        true,
        vec![istiod("a", Some("true")), istiod("b", Some("false")), istiod("c", None), istiod("d", Some("auto"))],
        &[
            (Code::InjectorsSeen, "istio-sidecar-injector (revision default)"),
            (Code::NativeOn, "istio-system/a"),
            (Code::NativeOff, "istio-system/b"),
            (Code::NativeByVersion, "istio-system/c, istio-system/d"),
        ]
    )]
    fn reports_injectors_and_native_sidecars(
        #[case] mesh: bool,
        #[case] istiods: Vec<Istiod>,
        #[case] expected: &[(Code, &str)],
    ) {
        let all = if mesh {
            vec![own_configuration(), injector("istio-sidecar-injector")]
        } else {
            vec![own_configuration()]
        };
        let expected: Vec<CheckFinding> =
            expected.iter().map(|(code, evidence)| (*code, (*evidence).to_owned())).collect();
        assert_eq!(check(&webhook_configurations(&all), &Readable::Known(istiods)), expected);
    }

    #[rstest]
    #[case::enabled(json!({"istio-injection": "enabled"}), true)]
    #[case::disabled(json!({"istio-injection": "disabled"}), false)]
    #[case::revision(json!({"istio.io/rev": "default"}), true)]
    #[case::unknown_revision(json!({"istio.io/rev": "canary"}), false)]
    #[case::by_pod_labels(json!({}), false)]
    fn detects_injection_by_namespace_labels(#[case] labels: serde_json::Value, #[case] expected: bool) {
        let all = webhook_configurations(&[own_configuration(), injector("istio-sidecar-injector")]);
        assert_eq!(calls(&all, &serde_json::from_value(labels).unwrap()), expected);
    }
}
