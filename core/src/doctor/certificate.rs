//! The certificate of the webhook, and whether the apiserver trusts it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{Code, Found, Readable, Servers, ServingCertificate, registration, several};
use crate::certs::{Dates, Distrust};
use crate::objects::{SERVICE, service_host};

/// Which part of a life is left at its end when something is wrong with renewal, which is due when a third is left.
const LAST_PART: i32 = 6;

pub(super) fn check(
    certificate: &Readable<ServingCertificate>,
    registrations: &[MutatingWebhookConfiguration],
    servers: &Servers,
    namespace: &str,
    now: Timestamp,
) -> Vec<Found> {
    let webhooks = registration::ours(registrations);
    // What is wrong with the bundles is told even where no certificate can be held against them.
    let mut found: Vec<Found> = webhooks.map(bundles).unwrap_or_default();
    let secret = format!("Secret {namespace}/{}", servers.secret);
    found.extend(certificate.evaluate(|certificate| match certificate {
        ServingCertificate::Missing => vec![(Code::CertificateMissing, secret)],
        ServingCertificate::Broken => vec![(Code::CertificateBroken, secret)],
        ServingCertificate::Present { dates, trust } => present(*dates, trust, webhooks, &secret, namespace, now),
    }));
    found
}

/// The `caBundle` of a webhook; empty where it has none.
#[must_use]
pub fn ca_bundle(webhook: &MutatingWebhook) -> &[u8] {
    webhook.client_config.ca_bundle.as_ref().map_or(&[], |ByteString(bytes)| bytes)
}

/// The webhooks that trust nobody.
fn bundles(webhooks: &[MutatingWebhook]) -> Vec<Found> {
    let empty = webhooks.iter().filter(|webhook| ca_bundle(webhook).is_empty()).map(|webhook| &webhook.name);
    match several(empty) {
        none if none.is_empty() => Vec::new(),
        names => vec![(Code::BundleMissing, names)],
    }
}

fn present(
    dates: Dates,
    trust: &BTreeMap<String, Result<(), Distrust>>,
    webhooks: Option<&[MutatingWebhook]>,
    secret: &str,
    namespace: &str,
    now: Timestamp,
) -> Vec<Found> {
    let about = format!("{secret}, valid from {} to {}", dates.not_before, dates.not_after);
    if !dates.hold(now) {
        return vec![(Code::CertificateNotInForce, format!("{about}; the apiserver's clock says {now}"))];
    }
    let callers = |verdict| {
        let webhooks = webhooks.unwrap_or_default().iter();
        webhooks.map(|webhook| &webhook.name).filter(move |name| trust.get(*name) == Some(&verdict))
    };
    if callers(Err(Distrust::Name)).next().is_some() {
        return vec![(Code::CertificateMisnamed, service_host(SERVICE, namespace))];
    }
    let foreign = several(callers(Err(Distrust::Issuer)));
    if !foreign.is_empty() {
        return vec![(Code::BundleForeign, foreign)];
    }
    if ends_soon(dates, now) {
        return vec![(Code::CertificateEndsSoon, about)];
    }
    match webhooks {
        None => vec![(Code::CertificateUnasked, about)],
        Some(webhooks) if callers(Ok(())).count() == webhooks.len() => {
            vec![(Code::CertificateTrusted, format!("until {}", dates.not_after))]
        }
        Some(_) => Vec::new(),
    }
}

fn ends_soon(dates: Dates, now: Timestamp) -> bool {
    dates.not_after.duration_since(now) < dates.not_after.duration_since(dates.not_before) / LAST_PART
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::json;

    use super::super::testing::{ours, registrations};
    use super::*;

    const TRUSTED: Result<(), Distrust> = Ok(());
    const FOREIGN: Result<(), Distrust> = Err(Distrust::Issuer);
    const MISNAMED: Result<(), Distrust> = Err(Distrust::Name);

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hour * 3600).unwrap()
    }

    /// A certificate that lasts for 90 hours and was back-dated by one, and what our webhooks make of it.
    fn certificate(trust: &[Option<Result<(), Distrust>>]) -> ServingCertificate {
        let names = ["inject.trainmesh.dev", "audit.trainmesh.dev", "istio-aux.trainmesh.dev"];
        let trust = names.into_iter().zip(trust).filter_map(|(name, verdict)| Some((name.to_owned(), (*verdict)?)));
        ServingCertificate::Present { dates: Dates::starting(at(0), Duration::from_hours(90)), trust: trust.collect() }
    }

    /// What is found where those webhooks have a `caBundle` that `bundles` says; without it none is registered.
    fn found(certificate: &Readable<ServingCertificate>, bundles: Option<[bool; 3]>, hour: i64) -> Vec<Code> {
        let mut registration = ours();
        for (index, _) in bundles.into_iter().flatten().enumerate().filter(|(_, there)| *there) {
            registration["webhooks"][index]["clientConfig"]["caBundle"] = json!(ByteString(b"a bundle".to_vec()));
        }
        let all = if bundles.is_some() { registrations(&[registration]) } else { Vec::new() };
        let found = check(certificate, &all, &Servers::default(), "trainmesh-system", at(hour));
        found.into_iter().map(|(code, _)| code).collect()
    }

    #[rstest]
    #[case::fresh(0, &[Code::CertificateTrusted])]
    #[case::renewal_is_due(61, &[Code::CertificateTrusted])]
    #[case::was_not_renewed(76, &[Code::CertificateEndsSoon])]
    #[case::ended(90, &[Code::CertificateNotInForce])]
    #[case::not_yet(-2, &[Code::CertificateNotInForce])]
    fn over_time(#[case] hour: i64, #[case] expected: &[Code]) {
        assert_eq!(found(&Readable::Known(certificate(&[Some(TRUSTED); 3])), Some([true; 3]), hour), expected);
    }

    #[rstest]
    #[case::all(&[Some(TRUSTED); 3], Some([true; 3]), &[Code::CertificateTrusted])]
    #[case::one_foreign(&[Some(TRUSTED), Some(FOREIGN), Some(TRUSTED)], Some([true; 3]), &[Code::BundleForeign])]
    #[case::one_missing(&[Some(TRUSTED), None, Some(TRUSTED)], Some([true, false, true]), &[Code::BundleMissing])]
    #[case::foreign_and_missing(
        &[Some(FOREIGN), None, Some(TRUSTED)], Some([true, false, true]), &[Code::BundleMissing, Code::BundleForeign]
    )]
    #[case::misnamed(&[Some(MISNAMED); 3], Some([true; 3]), &[Code::CertificateMisnamed])]
    #[case::not_registered(&[], None, &[Code::CertificateUnasked])]
    fn verdicts(
        #[case] trust: &[Option<Result<(), Distrust>>],
        #[case] bundles: Option<[bool; 3]>,
        #[case] expected: &[Code],
    ) {
        assert_eq!(found(&Readable::Known(certificate(trust)), bundles, 0), expected);
    }

    #[rstest]
    #[case::missing(Readable::Known(ServingCertificate::Missing), [true; 3], &[Code::CertificateMissing])]
    #[case::broken(Readable::Known(ServingCertificate::Broken), [true; 3], &[Code::CertificateBroken])]
    #[case::nothing_at_all(
        Readable::Known(ServingCertificate::Missing), [false; 3], &[Code::BundleMissing, Code::CertificateMissing]
    )]
    #[case::forbidden(
        Readable::Forbidden("read Secret".to_owned()), [false; 3], &[Code::BundleMissing, Code::NotReadable]
    )]
    fn without_a_certificate(
        #[case] certificate: Readable<ServingCertificate>,
        #[case] bundles: [bool; 3],
        #[case] expected: &[Code],
    ) {
        assert_eq!(found(&certificate, Some(bundles), 0), expected);
    }
}
