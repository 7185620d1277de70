//! Checks that the webhook configuration exists, is complete, and precedes that of Istio.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{CheckFinding, Code, istio, join_names};
use crate::objects::WEBHOOK_CONFIGURATION;

/// Names of the webhooks, one for each mode.
const WEBHOOKS: [&str; 3] = ["inject.trainmesh.dev", "audit.trainmesh.dev", "istio-aux.trainmesh.dev"];

pub(super) fn check(all: &[MutatingWebhookConfiguration], namespace: &str) -> Vec<CheckFinding> {
    let Some(webhooks) = own_webhooks(all) else { return vec![(Code::RegistrationMissing, String::new())] };
    let missing = WEBHOOKS.iter().filter(|name| webhooks.iter().all(|webhook| webhook.name != **name));
    let other_namespaces = webhooks.iter().filter_map(|webhook| {
        let service = webhook.client_config.service.as_ref()?;
        (service.namespace != namespace).then(|| service.namespace.clone())
    });
    let before = all
        .iter()
        .filter(|configuration| istio::injects(configuration))
        .filter_map(|configuration| configuration.metadata.name.as_deref());
    let before = before.filter(|name| *name < WEBHOOK_CONFIGURATION);
    let fail_closed = webhooks.iter().filter(|webhook| webhook.failure_policy.as_deref() != Some("Ignore"));
    let mut other_namespaces: Vec<String> = other_namespaces.collect();
    other_namespaces.dedup();
    let found = [
        (Code::WebhookMissing, join_names(missing)),
        (Code::CallsElsewhere, join_names(other_namespaces)),
        (Code::InjectedBefore, join_names(before)),
        (Code::FailsClosed, join_names(fail_closed.map(|webhook| &webhook.name))),
    ];
    let found: Vec<CheckFinding> = found.into_iter().filter(|(_, evidence)| !evidence.is_empty()).collect();
    // `FailsClosed` alone is a choice: the configuration is still in order.
    if found.iter().any(|(code, _)| *code != Code::FailsClosed) {
        found
    } else {
        [(Code::Registered, String::new())].into_iter().chain(found).collect()
    }
}

/// Returns the webhooks of trainmesh, if their configuration exists.
#[must_use]
pub fn own_webhooks(all: &[MutatingWebhookConfiguration]) -> Option<&[MutatingWebhook]> {
    let own = all.iter().find(|configuration| configuration.metadata.name.as_deref() == Some(WEBHOOK_CONFIGURATION))?;
    Some(own.webhooks.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::testing::{injector, own_configuration, webhook_configurations};
    use super::*;

    fn with(path: &str, value: Value) -> Value {
        let mut configuration = own_configuration();
        *configuration.pointer_mut(path).unwrap() = value;
        configuration
    }

    #[rstest]
    #[case::alone(&[own_configuration()], &[(Code::Registered, "")])]
    #[case::before_istio(&[own_configuration(), injector("istio-sidecar-injector"), injector("istio-revision-tag-default")], &[(Code::Registered, "")])]
    #[case::none(&[], &[(Code::RegistrationMissing, "")])]
    #[case::only_istio(&[injector("istio-sidecar-injector")], &[(Code::RegistrationMissing, "")])]
    #[case::missing_webhook(&[with("/webhooks/1/name", json!("x.trainmesh.dev"))], &[(Code::WebhookMissing, "audit.trainmesh.dev")])]
    #[case::other_installation(&[with("/webhooks/0/clientConfig/service/namespace", json!("other"))], &[(Code::CallsElsewhere, "other")])]
    #[case::by_url(&[with("/webhooks/0/clientConfig", json!({"url": "https://127.0.0.1/mutate"}))], &[(Code::Registered, "")])]
    #[case::after_istio(&[injector("0-istio-sidecar-injector"), own_configuration()], &[(Code::InjectedBefore, "0-istio-sidecar-injector")])]
    #[case::fail_closed(&[with("/webhooks/0/failurePolicy", json!("Fail"))], &[(Code::Registered, ""), (Code::FailsClosed, "inject.trainmesh.dev")])]
    #[case::fail_closed_by_default(&[with("/webhooks/2/failurePolicy", Value::Null)], &[(Code::Registered, ""), (Code::FailsClosed, "istio-aux.trainmesh.dev")])]
    fn checks_the_webhook_configurations_of_a_cluster(#[case] all: &[Value], #[case] expected: &[(Code, &str)]) {
        let expected: Vec<CheckFinding> =
            expected.iter().map(|(code, evidence)| (*code, (*evidence).to_owned())).collect();
        assert_eq!(check(&webhook_configurations(all), "trainmesh-system"), expected);
    }
}
