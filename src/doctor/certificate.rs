//! The certificate of the webhook, and whether the apiserver trusts it.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

use super::{Code, Found, Seen, Servers, registration, several};
use crate::certs::trust::{self, Distrust};
use crate::certs::{self, Dates, SERVICE, TLS_CRT, TLS_KEY};
use crate::cluster::secret::Secret;

/// Which part of a life is left at its end when something is wrong with renewal, which is due when a third is left.
const LAST_PART: i32 = 6;

pub(super) fn check(
    secret: &Seen<Option<Secret>>,
    registrations: &[MutatingWebhookConfiguration],
    servers: &Servers,
    namespace: &str,
    now: Timestamp,
) -> Vec<Found> {
    let webhooks = registration::ours(registrations);
    // What is wrong with the bundles is told even where no certificate can be held against them.
    let mut found: Vec<Found> = webhooks.map(bundles).unwrap_or_default();
    found.extend(secret.judge(|secret| leaf(secret.as_ref(), webhooks, servers, namespace, now)));
    found
}

/// The webhooks that trust nobody.
fn bundles(webhooks: &[MutatingWebhook]) -> Vec<Found> {
    let empty = webhooks.iter().filter(|webhook| bundle(webhook).is_empty()).map(|webhook| &webhook.name);
    match several(empty) {
        none if none.is_empty() => Vec::new(),
        names => vec![(Code::BundleMissing, names)],
    }
}

fn leaf(
    secret: Option<&Secret>,
    webhooks: Option<&[MutatingWebhook]>,
    servers: &Servers,
    namespace: &str,
    now: Timestamp,
) -> Vec<Found> {
    let about = |text: String| format!("Secret {}/{}{text}", namespace, servers.secret);
    let Some(secret) = secret.filter(|secret| !secret.get(TLS_CRT).is_empty()) else {
        return vec![(Code::CertificateMissing, about(String::new()))];
    };
    let (chain, key) = (secret.get(TLS_CRT), secret.get(TLS_KEY));
    let Some(dates) = trust::dates(chain, key) else {
        return vec![(Code::CertificateBroken, about(String::new()))];
    };
    let span = format!("valid from {} to {}", dates.not_before, dates.not_after);
    if !dates.hold(now) {
        return vec![(Code::CertificateNotInForce, about(format!(", {span}; the apiserver's clock says {now}")))];
    }
    let host = certs::host(SERVICE, namespace);
    let judged = |webhook: &MutatingWebhook| trust::verify(chain, bundle(webhook), &host, now);
    // Those without a bundle have been told of.
    let told = webhooks.unwrap_or_default().iter().filter(|webhook| !bundle(webhook).is_empty());
    let (mut misnamed, mut foreign, mut trusted) = (false, Vec::new(), 0);
    for webhook in told {
        match judged(webhook) {
            Ok(()) => trusted += 1,
            Err(Distrust::Name) => misnamed = true,
            Err(Distrust::Issuer) => foreign.push(&webhook.name),
        }
    }
    if misnamed {
        return vec![(Code::CertificateMisnamed, host)];
    }
    if !foreign.is_empty() {
        return vec![(Code::BundleForeign, several(foreign))];
    }
    if ends_soon(dates, now) {
        return vec![(Code::CertificateEndsSoon, about(format!(", {span}")))];
    }
    match webhooks {
        None => vec![(Code::CertificateUnasked, about(format!(", {span}")))],
        Some(webhooks) if trusted == webhooks.len() => {
            vec![(Code::CertificateTrusted, format!("until {}", dates.not_after))]
        }
        Some(_) => Vec::new(),
    }
}

fn ends_soon(dates: Dates, now: Timestamp) -> bool {
    dates.not_after.duration_since(now) < dates.not_after.duration_since(dates.not_before) / LAST_PART
}

fn bundle(webhook: &MutatingWebhook) -> &[u8] {
    webhook.client_config.ca_bundle.as_ref().map_or(&[], |ByteString(bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::json;

    use super::super::testing::{ours, registrations};
    use super::*;
    use crate::certs::mint;

    const HOUR: i64 = 3600;
    const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";

    /// When everything was made; it lasts for 90 hours, and was back-dated by one.
    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hour * HOUR).unwrap()
    }

    /// A CA, and a Secret with a leaf for `host` that it has signed.
    fn pair(host: &str) -> (String, Secret) {
        let dates = Dates::starting(at(0), Duration::from_hours(90));
        let authority = mint::authority(dates).unwrap();
        let leaf = mint::leaf(&authority, host, dates).unwrap();
        let data = [(TLS_CRT, leaf.certificate), (TLS_KEY, leaf.key.pem().to_owned())];
        let data: BTreeMap<String, Vec<u8>> = data.map(|(key, text)| (key.to_owned(), text.into_bytes())).into();
        (authority.pem, Secret::new("1", data))
    }

    /// What is found where each webhook has one of `bundles`.
    fn found(secret: Option<&Secret>, bundles: Option<[&str; 3]>, hour: i64) -> Vec<Code> {
        let mut registration = ours();
        for (index, bundle) in bundles.iter().flatten().enumerate() {
            registration["webhooks"][index]["clientConfig"]["caBundle"] = json!(ByteString(bundle.as_bytes().to_vec()));
        }
        let all = if bundles.is_some() { registrations(&[registration]) } else { Vec::new() };
        let servers = Servers::default();
        let found = check(&Seen::Known(secret.cloned()), &all, &servers, "trainmesh-system", at(hour));
        found.into_iter().map(|(code, _)| code).collect()
    }

    #[rstest]
    #[case::fresh(0, &[Code::CertificateTrusted])]
    #[case::renewal_is_due(61, &[Code::CertificateTrusted])]
    #[case::was_not_renewed(76, &[Code::CertificateEndsSoon])]
    #[case::ended(90, &[Code::CertificateNotInForce])]
    #[case::not_yet(-2, &[Code::CertificateNotInForce])]
    fn over_time(#[case] hour: i64, #[case] expected: &[Code]) {
        let (ca, secret) = pair(HOST);
        assert_eq!(found(Some(&secret), Some([&ca; 3]), hour), expected);
    }

    #[test]
    fn trust() {
        let ((ca, secret), (other, _)) = (pair(HOST), pair(HOST));
        let both = format!("{other}{ca}");
        let here = Some(&secret);
        assert_eq!(found(here, Some([&both; 3]), 0), [Code::CertificateTrusted]);
        assert_eq!(found(here, Some([&ca, &other, &ca]), 0), [Code::BundleForeign]);
        assert_eq!(found(here, Some([&ca, "", &ca]), 0), [Code::BundleMissing]);
        assert_eq!(found(here, Some([&other, "", &ca]), 0), [Code::BundleMissing, Code::BundleForeign]);
        assert_eq!(found(here, None, 0), [Code::CertificateUnasked]);
        assert_eq!(found(None, Some([&ca; 3]), 0), [Code::CertificateMissing]);
        assert_eq!(found(None, Some([""; 3]), 0), [Code::BundleMissing, Code::CertificateMissing]);
        let (ca, secret) = pair("another.trainmesh-system.svc");
        assert_eq!(found(Some(&secret), Some([&ca; 3]), 0), [Code::CertificateMisnamed]);
    }

    #[test]
    fn a_hidden_certificate_hides_no_missing_bundle() {
        let hidden = Seen::Hidden("read Secret".to_owned());
        let found = check(&hidden, &registrations(&[ours()]), &Servers::default(), "trainmesh-system", at(0));
        let codes: Vec<Code> = found.into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, [Code::BundleMissing, Code::NotReadable]);
    }

    #[test]
    fn what_is_no_pair_is_broken() {
        let ((ca, secret), (_, other)) = (pair(HOST), pair(HOST));
        let data = [(TLS_CRT, secret.get(TLS_CRT)), (TLS_KEY, other.get(TLS_KEY))];
        let mixed = Secret::new("1", data.map(|(key, bytes)| (key.to_owned(), bytes.to_vec())).into());
        assert_eq!(found(Some(&mixed), Some([&ca; 3]), 0), [Code::CertificateBroken]);
        assert_eq!(found(Some(&Secret::new("1", BTreeMap::new())), Some([&ca; 3]), 0), [Code::CertificateMissing]);
    }
}
