//! Who has opted in, and into what.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use serde_json::json;

use super::{Code, Found, istio, several};
use crate::mutate::Reason;
use crate::pod::{Injection, Pod, injection};
use crate::scope::{Installation, Mode, unknown_opt_in};

type Labels = BTreeMap<String, String>;

pub(super) fn check(
    namespaces: &BTreeMap<String, Labels>,
    registrations: Option<&Vec<MutatingWebhookConfiguration>>,
    installation: &Installation,
) -> Vec<Found> {
    let (mut enabled, mut aux) = (0, 0);
    let (mut rehearsed, mut unknown, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for (name, labels) in namespaces {
        match installation.namespace_mode(name, labels) {
            Ok(Mode::Enabled) => enabled += 1,
            Ok(Mode::IstioAux) => aux += 1,
            Ok(Mode::Audit) => rehearsed.push(name),
            Err(_) => {
                unknown.extend(unknown_opt_in(labels).map(|value| format!("{name} ({value})")));
                continue;
            }
        }
        bare.extend(not_injected(name, labels, registrations).map(|why| format!("{name} ({why})")));
    }
    let opted_in = if enabled + aux + rehearsed.len() == 0 {
        (Code::NoneOptedIn, String::new())
    } else {
        (Code::OptedIn, format!("{enabled} enabled, {} audit, {aux} by the label of istio-aux", rehearsed.len()))
    };
    let rest = [
        (Code::Rehearsed, several(rehearsed)),
        (Code::NotInjected, several(bare)),
        (Code::UnknownOptIn, several(unknown)),
    ];
    [opted_in].into_iter().chain(rest.into_iter().filter(|(_, names)| !names.is_empty())).collect()
}

/// Why Istio injects no plain pod there; `None` where it does.
fn not_injected(
    namespace: &str,
    labels: &Labels,
    registrations: Option<&Vec<MutatingWebhookConfiguration>>,
) -> Option<&'static str> {
    match injection(Pod::new(&json!({})), namespace, labels) {
        Injection::NotExpected(why) => Some(Reason::from(why).text()),
        Injection::Expected => {
            registrations.filter(|all| !istio::calls(all, labels)).map(|_| "no injector of Istio selects its labels")
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::testing::{injector, registrations};
    use super::*;

    const NONE_ASKS: &str = "neither namespace nor pod asks Istio for a sidecar";

    #[rstest]
    #[case::nobody(json!({"default": {}}), &[(Code::NoneOptedIn, String::new())])]
    #[case::each_mode(
        json!({
            "a": {"trainmesh.dev/inject": "enabled", "istio-injection": "enabled"},
            "b": {"trainmesh.dev/inject": "audit", "istio.io/rev": "default"},
            "c": {"io.datastrophic/istio-aux": "enabled", "istio-injection": "enabled"},
        }),
        &[(Code::OptedIn, "1 enabled, 1 audit, 1 by the label of istio-aux".to_owned()), (Code::Rehearsed, "b".to_owned())]
    )]
    #[case::not_injected(
        json!({
            "a": {"trainmesh.dev/inject": "enabled"},
            "b": {"trainmesh.dev/inject": "enabled", "istio.io/rev": "canary"},
        }),
        &[
            (Code::OptedIn, "2 enabled, 0 audit, 0 by the label of istio-aux".to_owned()),
            (Code::NotInjected, format!("a ({NONE_ASKS}), b (no injector of Istio selects its labels)")),
        ]
    )]
    #[case::odd_values(
        json!({"a": {"trainmesh.dev/inject": "true"}, "b": {"trainmesh.dev/inject": "disabled"}}),
        &[(Code::NoneOptedIn, String::new()), (Code::UnknownOptIn, "a (true)".to_owned())]
    )]
    fn opted_in(#[case] namespaces: Value, #[case] expected: &[Found]) {
        let namespaces: BTreeMap<String, Labels> = serde_json::from_value(namespaces).unwrap();
        let all = registrations(&[injector("istio-sidecar-injector")]);
        assert_eq!(check(&namespaces, Some(&all), &Installation::default()), expected);
    }

    #[test]
    fn without_the_registrations_the_labels_are_believed() {
        let labels = json!({"a": {"trainmesh.dev/inject": "enabled", "istio.io/rev": "canary"}});
        let found = check(&serde_json::from_value(labels).unwrap(), None, &Installation::default());
        assert!(found.iter().all(|(code, _)| *code == Code::OptedIn), "{found:?}");
    }
}
