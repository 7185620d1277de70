//! The certificate in the Secret of the webhook, as TLS judges it.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;

use crate::certs::trust;
use trainmesh_core::doctor::{self, ServingCertificate, ca_bundle};
use trainmesh_core::objects::Secret;
use trainmesh_core::objects::secret::{TLS_CRT, TLS_KEY};

/// What `secret` holds, and whether those trust it that `configurations` tell to call `host`.
pub(super) fn serving(
    secret: Option<&Secret>,
    configurations: &[MutatingWebhookConfiguration],
    host: &str,
    now: Timestamp,
) -> ServingCertificate {
    let Some(secret) = secret.filter(|secret| !secret.get(TLS_CRT).is_empty()) else {
        return ServingCertificate::Missing;
    };
    let (chain, key) = (secret.get(TLS_CRT), secret.get(TLS_KEY));
    let Some(dates) = trust::dates(chain, key) else { return ServingCertificate::Broken };
    let webhooks = doctor::webhooks(configurations).unwrap_or_default();
    let callers = webhooks.iter().filter(|webhook| !ca_bundle(webhook).is_empty());
    let trust = callers.map(|it| (it.name.clone(), trust::verify(chain, ca_bundle(it), host, now))).collect();
    ServingCertificate::Present { dates, trust }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;
    use crate::certs::mint;
    use trainmesh_core::certs::{Dates, Distrust};

    const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn dates() -> Dates {
        Dates::starting(now(), Duration::from_hours(90))
    }

    /// A CA, and a Secret with a certificate for `host` that it has signed.
    fn pair(host: &str) -> (String, Secret) {
        let authority = mint::authority(dates()).unwrap();
        let leaf = mint::leaf(&authority, host, dates()).unwrap();
        let data = [(TLS_CRT, leaf.certificate), (TLS_KEY, leaf.key.pem().to_owned())];
        let data: BTreeMap<String, Vec<u8>> = data.map(|(key, text)| (key.to_owned(), text.into_bytes())).into();
        (authority.pem, Secret::new("1", data))
    }

    fn configuration(bundles: [&str; 3]) -> MutatingWebhookConfiguration {
        let mut manifest = trainmesh_core::yaml::parse(include_str!("../../../config/registration.yaml")).unwrap();
        for (index, bundle) in bundles.into_iter().enumerate() {
            manifest["webhooks"][index]["clientConfig"]["caBundle"] = json!(ByteString(bundle.as_bytes().to_vec()));
        }
        serde_json::from_value(manifest).unwrap()
    }

    fn check(secret: &Secret, bundles: [&str; 3], expected: &[(&str, Result<(), Distrust>)]) {
        let trust = expected.iter().map(|(name, verdict)| (format!("{name}.trainmesh.dev"), *verdict)).collect();
        let found = serving(Some(secret), &[configuration(bundles)], HOST, now());
        assert_eq!(found, ServingCertificate::Present { dates: dates(), trust });
    }

    #[test]
    fn callers_trust_by_bundle_and_name() {
        let ((ca, secret), (other, _)) = (pair(HOST), pair(HOST));
        let both = format!("{other}{ca}");
        let (trusted, foreign, misnamed) = (Ok(()), Err(Distrust::Issuer), Err(Distrust::Name));
        check(&secret, [&both; 3], &[("inject", trusted), ("audit", trusted), ("istio-aux", trusted)]);
        check(&secret, [&ca, &other, &ca], &[("inject", trusted), ("audit", foreign), ("istio-aux", trusted)]);
        check(&secret, [&other, "", &ca], &[("inject", foreign), ("istio-aux", trusted)]);
        let (ca, secret) = pair("another.trainmesh-system.svc");
        check(&secret, [&ca; 3], &[("inject", misnamed), ("audit", misnamed), ("istio-aux", misnamed)]);
    }

    #[test]
    fn what_is_no_pair_is_broken() {
        let ((_, secret), (_, other)) = (pair(HOST), pair(HOST));
        let data = [(TLS_CRT, secret.get(TLS_CRT)), (TLS_KEY, other.get(TLS_KEY))];
        let mixed = Secret::new("1", data.map(|(key, bytes)| (key.to_owned(), bytes.to_vec())).into());
        assert_eq!(serving(Some(&mixed), &[], HOST, now()), ServingCertificate::Broken);
        assert_eq!(serving(Some(&Secret::new("1", BTreeMap::new())), &[], HOST, now()), ServingCertificate::Missing);
        assert_eq!(serving(None, &[], HOST, now()), ServingCertificate::Missing);
    }
}
