//! Evaluates the certificate in the webhook's Secret as a TLS client does.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;

use crate::certs::trust;
use trainmesh_core::doctor::{self, CertificateStatus, ca_bundle};
use trainmesh_core::objects::Secret;
use trainmesh_core::objects::secret::{TLS_CRT, TLS_KEY};

/// Evaluates the certificate in `secret` for `host`, and the `caBundle` of each webhook in `configurations` against it.
pub(super) fn certificate_status(
    secret: Option<&Secret>,
    configurations: &[MutatingWebhookConfiguration],
    host: &str,
    now: Timestamp,
) -> CertificateStatus {
    let Some(secret) = secret.filter(|secret| !secret.get(TLS_CRT).is_empty()) else {
        return CertificateStatus::Missing;
    };
    let (chain, key) = (secret.get(TLS_CRT), secret.get(TLS_KEY));
    let Some(validity) = trust::validity(chain, key) else { return CertificateStatus::Broken };
    let webhooks = doctor::own_webhooks(configurations).unwrap_or_default();
    let with_ca_bundle = webhooks.iter().filter(|webhook| !ca_bundle(webhook).is_empty());
    let trust = with_ca_bundle
        .map(|webhook| (webhook.name.clone(), trust::verify(chain, ca_bundle(webhook), host, now)))
        .collect();
    CertificateStatus::Present { validity, trust }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;
    use crate::certs::issue;
    use trainmesh_core::certs::{TrustError, Validity};

    const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn validity() -> Validity {
        Validity::from_lifetime(now(), Duration::from_hours(90))
    }

    /// Returns a CA, and a Secret with a certificate for `host` that it has signed.
    fn pair(host: &str) -> (String, Secret) {
        let ca = issue::ca(validity()).unwrap();
        let serving = issue::serving_certificate(&ca, host, validity()).unwrap();
        let data = [(TLS_CRT, serving.certificate), (TLS_KEY, serving.key.pem().to_owned())];
        let data: BTreeMap<String, Vec<u8>> = data.map(|(key, text)| (key.to_owned(), text.into_bytes())).into();
        (ca.pem, Secret::new("1", data))
    }

    fn configuration(bundles: [&str; 3]) -> MutatingWebhookConfiguration {
        let mut manifest =
            trainmesh_core::yaml::parse(include_str!("../../../config/webhook-configuration.yaml")).unwrap();
        for (index, bundle) in bundles.into_iter().enumerate() {
            manifest["webhooks"][index]["clientConfig"]["caBundle"] = json!(ByteString(bundle.as_bytes().to_vec()));
        }
        serde_json::from_value(manifest).unwrap()
    }

    fn check(secret: &Secret, bundles: [&str; 3], expected: &[(&str, Result<(), TrustError>)]) {
        let trust = expected.iter().map(|(name, verdict)| (format!("{name}.trainmesh.dev"), *verdict)).collect();
        let found = certificate_status(Some(secret), &[configuration(bundles)], HOST, now());
        assert_eq!(found, CertificateStatus::Present { validity: validity(), trust });
    }

    #[test]
    fn trust_depends_on_bundle_and_name() {
        let ((ca, secret), (other, _)) = (pair(HOST), pair(HOST));
        let both = format!("{other}{ca}");
        let (trusted, foreign, misnamed) = (Ok(()), Err(TrustError::UnknownIssuer), Err(TrustError::NameMismatch));
        check(&secret, [&both; 3], &[("inject", trusted), ("audit", trusted), ("istio-aux", trusted)]);
        check(&secret, [&ca, &other, &ca], &[("inject", trusted), ("audit", foreign), ("istio-aux", trusted)]);
        check(&secret, [&other, "", &ca], &[("inject", foreign), ("istio-aux", trusted)]);
        let (ca, secret) = pair("another.trainmesh-system.svc");
        check(&secret, [&ca; 3], &[("inject", misnamed), ("audit", misnamed), ("istio-aux", misnamed)]);
    }

    #[test]
    fn a_mismatched_pair_is_broken() {
        let ((_, secret), (_, other)) = (pair(HOST), pair(HOST));
        let data = [(TLS_CRT, secret.get(TLS_CRT)), (TLS_KEY, other.get(TLS_KEY))];
        let mixed = Secret::new("1", data.map(|(key, bytes)| (key.to_owned(), bytes.to_vec())).into());
        assert_eq!(certificate_status(Some(&mixed), &[], HOST, now()), CertificateStatus::Broken);
        assert_eq!(
            certificate_status(Some(&Secret::new("1", BTreeMap::new())), &[], HOST, now()),
            CertificateStatus::Missing
        );
        assert_eq!(certificate_status(None, &[], HOST, now()), CertificateStatus::Missing);
    }
}
