//! Istio: which configurations inject, and whether sidecars are native.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_core::{Selector, SelectorExt as _};

use super::{Code, Found, Istiod, Readable, several};
use crate::keys;

/// How the names of Istio's own configurations begin.
const NAMES: [&str; 2] = ["istio-sidecar-injector", "istio-revision-tag"];
/// How the names of their webhooks end, whatever the configuration is called.
const WEBHOOKS: &str = "sidecar-injector.istio.io";

pub(super) fn check(all: &[MutatingWebhookConfiguration], istiods: &Readable<Vec<Istiod>>) -> Vec<Found> {
    let injectors = several(all.iter().filter(|it| injects(it)).map(title));
    let mut found =
        vec![if injectors.is_empty() { (Code::InjectorMissing, injectors) } else { (Code::InjectorsSeen, injectors) }];
    found.extend(istiods.evaluate(|istiods| native(istiods)));
    found
}

/// Whether a configuration is one of Istio's that inject.
pub(super) fn injects(configuration: &MutatingWebhookConfiguration) -> bool {
    let name = configuration.metadata.name.as_deref().unwrap_or_default();
    let mut webhooks = configuration.webhooks.iter().flatten();
    NAMES.iter().any(|begin| name.starts_with(begin)) || webhooks.any(|webhook| webhook.name.ends_with(WEBHOOKS))
}

/// Whether one of `all` is called for a plain pod in a namespace with `labels`.
pub(super) fn calls(all: &[MutatingWebhookConfiguration], labels: &BTreeMap<String, String>) -> bool {
    let plain = BTreeMap::new();
    let called = |webhook: &MutatingWebhook| {
        selects(webhook.namespace_selector.as_ref(), labels) && selects(webhook.object_selector.as_ref(), &plain)
    };
    all.iter().filter(|it| injects(it)).flat_map(|it| it.webhooks.iter().flatten()).any(called)
}

fn selects(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return true };
    // The apiserver takes no selector that cannot be read.
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}

/// The name of a configuration, and its revision.
fn title(configuration: &MutatingWebhookConfiguration) -> String {
    let metadata = &configuration.metadata;
    let name = metadata.name.as_deref().unwrap_or_default();
    match metadata.labels.as_ref().and_then(|labels| labels.get(keys::ISTIO_REVISION)) {
        Some(revision) => format!("{name} (revision {revision})"),
        None => name.to_owned(),
    }
}

/// How each control plane chooses, where it can be seen.
fn native(istiods: &[Istiod]) -> Vec<Found> {
    let choice = |istiod: &Istiod| match istiod.native.as_deref() {
        Some("true") => Code::NativeOn,
        Some("false") => Code::NativeOff,
        _ => Code::NativeByVersion,
    };
    let found = [Code::NativeOn, Code::NativeOff, Code::NativeByVersion].map(|code| {
        let names = istiods.iter().filter(|istiod| choice(istiod) == code).map(|istiod| &istiod.name);
        (code, several(names))
    });
    found.into_iter().filter(|(_, names)| !names.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::testing::{injector, ours, registrations};
    use super::*;

    fn istiod(name: &str, native: Option<&str>) -> Istiod {
        Istiod { name: format!("istio-system/{name}"), native: native.map(str::to_owned) }
    }

    #[rstest]
    #[case::no_mesh(false, vec![], &[(Code::InjectorMissing, "")])]
    #[case::control_plane_elsewhere(true, vec![], &[(Code::InjectorsSeen, "istio-sidecar-injector (revision default)")])]
    #[case::each_by_its_mode(
        true,
        vec![istiod("a", Some("true")), istiod("b", Some("false")), istiod("c", None), istiod("d", Some("auto"))],
        &[
            (Code::InjectorsSeen, "istio-sidecar-injector (revision default)"),
            (Code::NativeOn, "istio-system/a"),
            (Code::NativeOff, "istio-system/b"),
            (Code::NativeByVersion, "istio-system/c, istio-system/d"),
        ]
    )]
    fn meshes(#[case] mesh: bool, #[case] istiods: Vec<Istiod>, #[case] expected: &[(Code, &str)]) {
        let all = if mesh { vec![ours(), injector("istio-sidecar-injector")] } else { vec![ours()] };
        let expected: Vec<Found> = expected.iter().map(|(code, about)| (*code, (*about).to_owned())).collect();
        assert_eq!(check(&registrations(&all), &Readable::Known(istiods)), expected);
    }

    #[rstest]
    #[case::enabled(json!({"istio-injection": "enabled"}), true)]
    #[case::disabled(json!({"istio-injection": "disabled"}), false)]
    #[case::revision(json!({"istio.io/rev": "default"}), true)]
    #[case::unknown_revision(json!({"istio.io/rev": "canary"}), false)]
    #[case::pods_decide(json!({}), false)]
    fn plain_pods(#[case] labels: serde_json::Value, #[case] expected: bool) {
        let all = registrations(&[ours(), injector("istio-sidecar-injector")]);
        assert_eq!(calls(&all, &serde_json::from_value(labels).unwrap()), expected);
    }
}
