//! Checks the serving certificate, and that the apiserver trusts it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{CertificateStatus, CheckFinding, Code, Readable, Servers, join_names, webhook_configuration};
use crate::certs::{TrustError, Validity};
use crate::objects::{SERVICE, service_host};

/// A renewal has failed if less than a sixth of the lifetime remains; it is due when a third remains.
const EXPIRY_DIVISOR: i32 = 6;

pub(super) fn check(
    certificate: &Readable<CertificateStatus>,
    webhook_configurations: &[MutatingWebhookConfiguration],
    servers: &Servers,
    namespace: &str,
    now: &Readable<Timestamp>,
) -> Vec<CheckFinding> {
    let webhooks = webhook_configuration::own_webhooks(webhook_configurations);
    // A missing `caBundle` is reported even if there is no certificate to verify.
    let mut found: Vec<CheckFinding> = webhooks.map(check_bundles).unwrap_or_default();
    let secret = format!("Secret {namespace}/{}", servers.secret);
    found.extend(certificate.evaluate(|certificate| match certificate {
        CertificateStatus::Missing => vec![(Code::CertificateMissing, secret)],
        CertificateStatus::Broken => vec![(Code::CertificateBroken, secret)],
        CertificateStatus::Present { validity, trust } => {
            now.evaluate(|now| check_certificate(*validity, trust, webhooks, &secret, namespace, *now))
        }
    }));
    found
}

/// Returns the `caBundle` of a webhook; empty if it has none.
#[must_use]
pub fn ca_bundle(webhook: &MutatingWebhook) -> &[u8] {
    webhook.client_config.ca_bundle.as_ref().map_or(&[], |ByteString(bytes)| bytes)
}

/// Reports webhooks without a `caBundle`.
fn check_bundles(webhooks: &[MutatingWebhook]) -> Vec<CheckFinding> {
    let empty = webhooks.iter().filter(|webhook| ca_bundle(webhook).is_empty()).map(|webhook| &webhook.name);
    match join_names(empty) {
        none if none.is_empty() => Vec::new(),
        names => vec![(Code::BundleMissing, names)],
    }
}

fn check_certificate(
    validity: Validity,
    trust: &BTreeMap<String, Result<(), TrustError>>,
    webhooks: Option<&[MutatingWebhook]>,
    secret: &str,
    namespace: &str,
    now: Timestamp,
) -> Vec<CheckFinding> {
    let evidence = format!("{secret}, valid from {} to {}", validity.not_before, validity.not_after);
    if !validity.contains(now) {
        return vec![(Code::CertificateNotInForce, format!("{evidence}; time of the apiserver: {now}"))];
    }
    let webhooks_with_result = |result| {
        let webhooks = webhooks.unwrap_or_default().iter();
        webhooks.map(|webhook| &webhook.name).filter(move |name| trust.get(*name) == Some(&result))
    };
    if webhooks_with_result(Err(TrustError::NameMismatch)).next().is_some() {
        return vec![(Code::CertificateMisnamed, service_host(SERVICE, namespace))];
    }
    let untrusted = join_names(webhooks_with_result(Err(TrustError::UnknownIssuer)));
    if !untrusted.is_empty() {
        return vec![(Code::BundleForeign, untrusted)];
    }
    if expires_soon(validity, now) {
        return vec![(Code::CertificateEndsSoon, evidence)];
    }
    match webhooks {
        None => vec![(Code::CertificateUnasked, evidence)],
        Some(webhooks) if webhooks_with_result(Ok(())).count() == webhooks.len() => {
            vec![(Code::CertificateTrusted, format!("until {}", validity.not_after))]
        }
        Some(_) => Vec::new(),
    }
}

fn expires_soon(validity: Validity, now: Timestamp) -> bool {
    validity.not_after.duration_since(now) < validity.not_after.duration_since(validity.not_before) / EXPIRY_DIVISOR
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::json;

    use super::super::testing::{own_configuration, webhook_configurations};
    use super::*;

    const TRUSTED: Result<(), TrustError> = Ok(());
    const UNKNOWN_ISSUER: Result<(), TrustError> = Err(TrustError::UnknownIssuer);
    const NAME_MISMATCH: Result<(), TrustError> = Err(TrustError::NameMismatch);

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hour * 3600).unwrap()
    }

    /// Returns a certificate with a lifetime of 90 hours, back-dated by one, and the results of verifying it for each
    /// webhook.
    fn certificate(trust: &[Option<Result<(), TrustError>>]) -> CertificateStatus {
        let names = ["inject.trainmesh.dev", "audit.trainmesh.dev", "istio-aux.trainmesh.dev"];
        let trust = names.into_iter().zip(trust).filter_map(|(name, result)| Some((name.to_owned(), (*result)?)));
        CertificateStatus::Present {
            validity: Validity::from_lifetime(at(0), Duration::from_hours(90)),
            trust: trust.collect(),
        }
    }

    /// Returns the codes found. `bundles` selects the webhooks with a `caBundle`; `None` omits the webhook
    /// configuration.
    fn found(certificate: &Readable<CertificateStatus>, bundles: Option<[bool; 3]>, hour: i64) -> Vec<Code> {
        let mut configuration = own_configuration();
        for (index, _) in bundles.into_iter().flatten().enumerate().filter(|(_, present)| *present) {
            configuration["webhooks"][index]["clientConfig"]["caBundle"] = json!(ByteString(b"a bundle".to_vec()));
        }
        let all = if bundles.is_some() { webhook_configurations(&[configuration]) } else { Vec::new() };
        let found = check(certificate, &all, &Servers::default(), "trainmesh-system", &Readable::Known(at(hour)));
        found.into_iter().map(|(code, _)| code).collect()
    }

    #[rstest]
    #[case::fresh(0, &[Code::CertificateTrusted])]
    #[case::renewal_is_due(61, &[Code::CertificateTrusted])]
    #[case::not_renewed(76, &[Code::CertificateEndsSoon])]
    #[case::expired(90, &[Code::CertificateNotInForce])]
    #[case::not_yet_valid(-2, &[Code::CertificateNotInForce])]
    fn checks_the_validity(#[case] hour: i64, #[case] expected: &[Code]) {
        assert_eq!(found(&Readable::Known(certificate(&[Some(TRUSTED); 3])), Some([true; 3]), hour), expected);
    }

    #[rstest]
    #[case::all(&[Some(TRUSTED); 3], Some([true; 3]), &[Code::CertificateTrusted])]
    #[case::one_unknown_issuer(&[Some(TRUSTED), Some(UNKNOWN_ISSUER), Some(TRUSTED)], Some([true; 3]), &[Code::BundleForeign])]
    #[case::one_missing(&[Some(TRUSTED), None, Some(TRUSTED)], Some([true, false, true]), &[Code::BundleMissing])]
    #[case::unknown_issuer_and_missing(
        &[Some(UNKNOWN_ISSUER), None, Some(TRUSTED)], Some([true, false, true]), &[Code::BundleMissing, Code::BundleForeign]
    )]
    #[case::name_mismatch(&[Some(NAME_MISMATCH); 3], Some([true; 3]), &[Code::CertificateMisnamed])]
    #[case::no_webhook_configuration(&[], None, &[Code::CertificateUnasked])]
    fn checks_the_trust_of_each_webhook(
        #[case] trust: &[Option<Result<(), TrustError>>],
        #[case] bundles: Option<[bool; 3]>,
        #[case] expected: &[Code],
    ) {
        assert_eq!(found(&Readable::Known(certificate(trust)), bundles, 0), expected);
    }

    #[rstest]
    #[case::missing(Readable::Known(CertificateStatus::Missing), [true; 3], &[Code::CertificateMissing])]
    #[case::broken(Readable::Known(CertificateStatus::Broken), [true; 3], &[Code::CertificateBroken])]
    #[case::missing_bundles_too(
        Readable::Known(CertificateStatus::Missing), [false; 3], &[Code::BundleMissing, Code::CertificateMissing]
    )]
    #[case::forbidden(
        Readable::Forbidden("read Secret".to_owned()), [false; 3], &[Code::BundleMissing, Code::NotReadable]
    )]
    fn reports_a_missing_certificate(
        #[case] certificate: Readable<CertificateStatus>,
        #[case] bundles: [bool; 3],
        #[case] expected: &[Code],
    ) {
        assert_eq!(found(&certificate, Some(bundles), 0), expected);
    }
}
