//! Checks which namespaces have opted in, and in which mode.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use serde_json::json;

use super::{CheckFinding, Code, istio, join_names};
use crate::config::Profiles;
use crate::keys;
use crate::mutate::Reason;
use crate::own_keys::{Location, fabric_problem, problem};
use crate::pod::{Injection, Pod, predict_injection};
use crate::scope::{Installation, Mode, unknown_inject_value};

type Labels = BTreeMap<String, String>;

pub(super) fn check(
    namespaces: &BTreeMap<String, Labels>,
    webhook_configurations: Option<&Vec<MutatingWebhookConfiguration>>,
    profiles: Option<&Profiles>,
    installation: &Installation,
) -> Vec<CheckFinding> {
    let without_effect = namespaces.iter().flat_map(|(name, labels)| {
        labels_without_effect(labels, profiles).map(move |problem| format!("{name} ({problem})"))
    });
    let without_effect = join_names(without_effect);
    let (mut enabled, mut aux) = (0, 0);
    let (mut audited, mut unknown, mut not_injected) = (Vec::new(), Vec::new(), Vec::new());
    for (name, labels) in namespaces {
        match installation.namespace_mode(name, labels) {
            Ok(Mode::Enabled) => enabled += 1,
            Ok(Mode::IstioAux) => aux += 1,
            Ok(Mode::Audit) => audited.push(name),
            Err(_) => {
                unknown.extend(unknown_inject_value(labels).map(|value| format!("{name} ({value})")));
                continue;
            }
        }
        not_injected.extend(
            exclusion_from_injection(name, labels, webhook_configurations).map(|reason| format!("{name} ({reason})")),
        );
    }
    let opted_in = if enabled + aux + audited.len() == 0 {
        (Code::NoneOptedIn, String::new())
    } else {
        (Code::OptedIn, format!("{enabled} enabled, {} audit, {aux} by the istio-aux label", audited.len()))
    };
    let rest = [
        (Code::Rehearsed, join_names(audited)),
        (Code::NotInjected, join_names(not_injected)),
        (Code::UnknownOptIn, join_names(unknown)),
        (Code::LabelsWithoutEffect, without_effect),
    ];
    [opted_in].into_iter().chain(rest.into_iter().filter(|(_, names)| !names.is_empty())).collect()
}

/// Returns the problem of each label of trainmesh that has no effect. [`Code::UnknownOptIn`] reports the value of the
/// opt-in label.
fn labels_without_effect<'a>(
    labels: &'a Labels,
    profiles: Option<&'a Profiles>,
) -> impl Iterator<Item = String> + use<'a> {
    let own = labels.iter().filter(|(key, _)| *key != keys::INJECT);
    own.filter_map(move |(key, value)| match profiles {
        Some(profiles) if key == keys::FABRIC => fabric_problem(value, profiles),
        _ => problem(Location::NamespaceLabel, key, value),
    })
}

/// Returns the reason why Istio does not inject a pod without labels in the namespace; `None` if Istio injects it.
fn exclusion_from_injection(
    namespace: &str,
    labels: &Labels,
    webhook_configurations: Option<&Vec<MutatingWebhookConfiguration>>,
) -> Option<&'static str> {
    match predict_injection(Pod::new(&json!({})), namespace, labels) {
        Injection::NotExpected(reason) => Some(Reason::from(reason).text()),
        Injection::Expected => webhook_configurations
            .filter(|all| !istio::calls(all, labels))
            .map(|_| "no injection webhook of Istio selects its labels"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::testing::{injector, webhook_configurations};
    use super::*;
    use crate::config::Configuration;

    const NOT_REQUESTED: &str = "neither the namespace nor the pod requests sidecar injection";

    #[rstest]
    #[case::none(json!({"default": {}}), &[(Code::NoneOptedIn, String::new())])]
    #[case::each_mode(
        json!({
            "a": {"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"},
            "b": {"trainmesh.dev/inject": "audit", "istio.io/rev": "default"},
            "c": {"io.datastrophic/istio-aux": "enabled", "istio-injection": "enabled"},
        }),
        &[(Code::OptedIn, "1 enabled, 1 audit, 1 by the istio-aux label".to_owned()), (Code::Rehearsed, "b".to_owned())]
    )]
    #[case::not_injected(
        json!({
            "a": {"trainmesh.dev/inject": "enabled"},
            "b": {"trainmesh.dev/inject": "enabled", "istio.io/rev": "canary"},
        }),
        &[
            (Code::OptedIn, "2 enabled, 0 audit, 0 by the istio-aux label".to_owned()),
            (Code::NotInjected, format!("a ({NOT_REQUESTED}), b (no injection webhook of Istio selects its labels)")),
        ]
    )]
    #[case::unknown_values(
        json!({"a": {"trainmesh.dev/inject": "true"}, "b": {"trainmesh.dev/inject": "disabled"}}),
        &[(Code::NoneOptedIn, String::new()), (Code::UnknownOptIn, "a (true)".to_owned())]
    )]
    #[case::labels_without_effect(
        json!({
            "a": {"trainmesh.dev/injct": "enabled", "trainmesh.dev/mesh-traffic": "off"},
            "b": {"trainmesh.dev/fabric": "eks-efaa", "app": "x"},
            "c": {"trainmesh.dev/fabric": "none", "trainmesh.dev/mesh-traffic": "leave"},
        }),
        &[
            (Code::NoneOptedIn, String::new()),
            (
                Code::LabelsWithoutEffect,
                "a (trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?), \
                 a (trainmesh.dev/mesh-traffic=off: unknown mode: expected leave, direct, disableCapture or disableInjection), \
                 b (trainmesh.dev/fabric=eks-efaa: no fabric profile has this name: did you mean eks-efa?)"
                    .to_owned()
            ),
        ]
    )]
    fn checks_the_opt_in_of_each_namespace(#[case] namespaces: Value, #[case] expected: &[CheckFinding]) {
        let namespaces: BTreeMap<String, Labels> = serde_json::from_value(namespaces).unwrap();
        let all = webhook_configurations(&[injector("istio-sidecar-injector")]);
        let profiles = Configuration::embedded().fabric.profiles;
        assert_eq!(check(&namespaces, Some(&all), Some(&profiles), &Installation::default()), expected);
    }

    #[test]
    fn without_webhook_configurations_the_labels_decide() {
        let labels = json!({"a": {"trainmesh.dev/inject": "enabled", "istio.io/rev": "canary"}});
        let found = check(&serde_json::from_value(labels).unwrap(), None, None, &Installation::default());
        assert!(found.iter().all(|(code, _)| *code == Code::OptedIn), "{found:?}");
    }
}
