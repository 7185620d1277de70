//! Damage to Secrets and to `caBundle`.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh::certs::read::{CaSet, ServingCertificate};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET};

use super::continuity::DEFAULT_LIFETIMES;
use super::installation::{Installation, empty};
use super::leader::Leader;
use super::prober::{ProbeCounts, probe};
use trainmesh_testing::cluster::{TIMEOUT, eventually};
use trainmesh_testing::webhook::Certificate;

/// Lifetimes with an overlap of 20 s: steps that wait for the overlap complete within the test, and no serving
/// certificate is due before, also on a busy machine.
const SHORT_OVERLAP: (u64, u64) = (240, 240);

/// Number of calls, and of handshakes with each replica, between the damage and the next leader.
const PROBES: u32 = 10;

/// Damages a Secret while the prober runs.
type Damage = fn(&Installation, &str, &ProbeCounts);

fn bytes(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap()
}

fn wipe(installation: &Installation, name: &str, _: &ProbeCounts) {
    installation.overwrite(name, &json!({}));
}

fn corrupt(installation: &Installation, name: &str, _: &ProbeCounts) {
    let half = |text: &String| bytes(&text[..text.len() / 2]);
    let data: Value = installation.secret(name).iter().map(|(key, text)| (key.clone(), half(text))).collect();
    installation.overwrite(name, &data);
}

/// Replaces the content with an unrelated CA and certificate that belong together.
fn replace(installation: &Installation, name: &str, _: &ProbeCounts) {
    let other = Certificate::new();
    let (pem, key) = (bytes(&other.pem), bytes(&other.key.serialize_pem()));
    installation.overwrite(name, &json!({CA_CRT: pem, TLS_CRT: pem, CA_KEY: key, TLS_KEY: key}));
}

fn delete(installation: &Installation, name: &str, probes: &ProbeCounts) {
    let _ = installation.home.kubectl(&["delete", "secret", name], "").success();
    // The chart's next upgrade creates it again.
    probes.wait_for(PROBES);
    let _ = installation.home.create(&empty(name)).success();
}

/// Waits until all certificates are consistent.
fn wait_consistent(installation: &Installation) {
    eventually(TIMEOUT, "the certificates are consistent", || {
        let (ca_secret, serving) = (installation.secret(CA_SECRET), installation.secret(SERVING_SECRET));
        let get = |data: &BTreeMap<String, String>, key: &str| data.get(key).cloned().unwrap_or_default();
        let recorded = CaSet::read(get(&ca_secret, CA_CRT).as_bytes(), get(&ca_secret, CA_KEY).as_bytes());
        let bundle = get(&serving, CA_CRT);
        let certificate =
            ServingCertificate::read(get(&serving, TLS_CRT).as_bytes(), get(&serving, TLS_KEY).as_bytes());
        let signed = certificate
            .is_some_and(|certificate| recorded.cas.iter().any(|ca| ca.key.is_some() && ca.has_signed(&certificate)));
        let trusted = installation.bundles().iter().all(|other| *other == bundle && *other == get(&ca_secret, CA_CRT));
        if signed && trusted && !recorded.foreign { Ok(()) } else { Err(format!("{recorded:?}, {signed}, {trusted}")) }
    });
}

/// Replicas keep their certificate, whatever happens to the Secrets.
#[rstest]
#[case::record_wiped(wipe, CA_SECRET)]
#[case::record_corrupted(corrupt, CA_SECRET)]
#[case::record_replaced(replace, CA_SECRET)]
#[case::record_deleted(delete, CA_SECRET)]
#[case::serving_wiped(wipe, SERVING_SECRET)]
#[case::serving_corrupted(corrupt, SERVING_SECRET)]
#[case::serving_replaced(replace, SERVING_SECRET)]
#[case::serving_deleted(delete, SERVING_SECRET)]
fn no_call_fails_whatever_happens_to_a_secret(#[case] damage: Damage, #[case] name: &str) {
    let installation = Installation::new(2);
    {
        let _leader = Leader::start(&installation, SHORT_OVERLAP);
        installation.wait_ready();
        installation.wait_patched();
    }
    let report = probe(&installation, |probes| {
        damage(&installation, name, probes);
        // For a while there is no leader, and replicas see only the damage.
        probes.wait_for(PROBES);
        let _leader = Leader::start(&installation, SHORT_OVERLAP);
        wait_consistent(&installation);
    });
    report.check(PROBES);
}

#[rstest]
#[case::wiped("")]
#[case::replaced(&Certificate::new().pem)]
#[case::garbage("hello\n")]
fn the_ca_bundle_is_restored(#[case] other: &str) {
    let installation = Installation::new(1);
    let _leader = Leader::start(&installation, DEFAULT_LIFETIMES);
    installation.wait_ready();
    installation.wait_patched();
    for webhook in 0..3 {
        installation.set_bundle(webhook, other);
        wait_consistent(&installation);
    }
    installation.wait_patched();
}

/// Deletes both Secrets and every `caBundle`, so that the state is that of a new installation.
#[test]
fn everything_is_issued_again_when_everything_is_lost() {
    let installation = Installation::new(1);
    {
        let _leader = Leader::start(&installation, DEFAULT_LIFETIMES);
        installation.wait_ready();
        installation.wait_patched();
    }
    for name in [CA_SECRET, SERVING_SECRET] {
        installation.overwrite(name, &json!({}));
    }
    (0..3).for_each(|webhook| installation.set_bundle(webhook, ""));
    let _leader = Leader::start(&installation, DEFAULT_LIFETIMES);
    wait_consistent(&installation);
    installation.wait_patched();
}
