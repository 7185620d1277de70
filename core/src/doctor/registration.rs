//! The registration of the webhook: there, complete, and called before whoever injects.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{Code, Found, istio, several};
use crate::objects::WEBHOOK_CONFIGURATION;

/// The webhooks, one for each mode.
const WEBHOOKS: [&str; 3] = ["inject.trainmesh.dev", "audit.trainmesh.dev", "istio-aux.trainmesh.dev"];

pub(super) fn check(all: &[MutatingWebhookConfiguration], namespace: &str) -> Vec<Found> {
    let Some(webhooks) = ours(all) else { return vec![(Code::RegistrationMissing, String::new())] };
    let missing = WEBHOOKS.iter().filter(|name| webhooks.iter().all(|webhook| webhook.name != **name));
    let elsewhere = webhooks.iter().filter_map(|webhook| {
        let service = webhook.client_config.service.as_ref()?;
        (service.namespace != namespace).then(|| service.namespace.clone())
    });
    let before = all.iter().filter(|it| istio::injects(it)).filter_map(|it| it.metadata.name.as_deref());
    let before = before.filter(|name| *name < WEBHOOK_CONFIGURATION);
    let closed = webhooks.iter().filter(|webhook| webhook.failure_policy.as_deref() != Some("Ignore"));
    let mut elsewhere: Vec<String> = elsewhere.collect();
    elsewhere.dedup();
    let found = [
        (Code::WebhookMissing, several(missing)),
        (Code::CallsElsewhere, several(elsewhere)),
        (Code::InjectedBefore, several(before)),
        (Code::FailsClosed, several(closed.map(|webhook| &webhook.name))),
    ];
    let found: Vec<Found> = found.into_iter().filter(|(_, about)| !about.is_empty()).collect();
    // Whoever asks for `Fail` is told, and told too that the rest is as it should be.
    if found.iter().any(|(code, _)| *code != Code::FailsClosed) {
        found
    } else {
        [(Code::Registered, String::new())].into_iter().chain(found).collect()
    }
}

/// Our webhooks, if they are registered.
#[must_use]
pub fn ours(all: &[MutatingWebhookConfiguration]) -> Option<&[MutatingWebhook]> {
    let ours = all.iter().find(|it| it.metadata.name.as_deref() == Some(WEBHOOK_CONFIGURATION))?;
    Some(ours.webhooks.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::testing::{injector, ours as registered, registrations};
    use super::*;

    fn with(path: &str, value: Value) -> Value {
        let mut registration = registered();
        *registration.pointer_mut(path).unwrap() = value;
        registration
    }

    #[rstest]
    #[case::alone(&[registered()], &[(Code::Registered, "")])]
    #[case::before_istio(&[registered(), injector("istio-sidecar-injector"), injector("istio-revision-tag-default")], &[(Code::Registered, "")])]
    #[case::nothing(&[], &[(Code::RegistrationMissing, "")])]
    #[case::others_only(&[injector("istio-sidecar-injector")], &[(Code::RegistrationMissing, "")])]
    #[case::one_webhook_gone(&[with("/webhooks/1/name", json!("x.trainmesh.dev"))], &[(Code::WebhookMissing, "audit.trainmesh.dev")])]
    #[case::another_installation(&[with("/webhooks/0/clientConfig/service/namespace", json!("other"))], &[(Code::CallsElsewhere, "other")])]
    #[case::by_url(&[with("/webhooks/0/clientConfig", json!({"url": "https://127.0.0.1/mutate"}))], &[(Code::Registered, "")])]
    #[case::after_istio(&[injector("0-istio-sidecar-injector"), registered()], &[(Code::InjectedBefore, "0-istio-sidecar-injector")])]
    #[case::closed(&[with("/webhooks/0/failurePolicy", json!("Fail"))], &[(Code::Registered, ""), (Code::FailsClosed, "inject.trainmesh.dev")])]
    #[case::closed_by_default(&[with("/webhooks/2/failurePolicy", Value::Null)], &[(Code::Registered, ""), (Code::FailsClosed, "istio-aux.trainmesh.dev")])]
    fn registrations_of_a_cluster(#[case] all: &[Value], #[case] expected: &[(Code, &str)]) {
        let expected: Vec<Found> = expected.iter().map(|(code, about)| (*code, (*about).to_owned())).collect();
        assert_eq!(check(&registrations(all), "trainmesh-system"), expected);
    }
}
