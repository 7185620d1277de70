//! What others do to Secrets and `caBundle`.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh::certs::read::{Authorities, Leaf};
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET};

use super::continuity::LONG;
use super::installation::{Installation, empty};
use super::leader::Leader;
use super::witness::{Looks, witness};
use trainmesh_testing::cluster::{PATIENCE, eventually};
use trainmesh_testing::webhook::Certificate;

/// The overlap is 5 s, so that what takes it ends within the test; no leaf is due before.
const OVERLAP_OF_5_S: (u64, u64) = (60, 60);

/// Calls, and handshakes with each replica, after the harm and before somebody leads.
const LOOKS: u32 = 10;

/// What somebody does to a Secret while the witness looks.
type Harm = fn(&Installation, &str, &Looks);

fn bytes(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap()
}

fn wipe(installation: &Installation, name: &str, _: &Looks) {
    installation.overwrite(name, &json!({}));
}

fn corrupt(installation: &Installation, name: &str, _: &Looks) {
    let half = |text: &String| bytes(&text[..text.len() / 2]);
    let data: Value = installation.secret(name).iter().map(|(key, text)| (key.clone(), half(text))).collect();
    installation.overwrite(name, &data);
}

/// By those of somebody else, which belong together.
fn replace(installation: &Installation, name: &str, _: &Looks) {
    let other = Certificate::new();
    let (pem, key) = (bytes(&other.pem), bytes(&other.key.serialize_pem()));
    installation.overwrite(name, &json!({CA_CRT: pem, TLS_CRT: pem, CA_KEY: key, TLS_KEY: key}));
}

fn delete(installation: &Installation, name: &str, looks: &Looks) {
    let _ = installation.home.kubectl(&["delete", "secret", name], "").success();
    // The next upgrade of the chart, or whoever keeps it in step, makes it again.
    looks.more(LOOKS);
    let _ = installation.home.create(&empty(name)).success();
}

/// Everything is in order again.
fn settled(installation: &Installation) {
    eventually(PATIENCE, "certificates are in order", || {
        let (record, serving) = (installation.secret(CA_SECRET), installation.secret(SERVING_SECRET));
        let get = |data: &BTreeMap<String, String>, key: &str| data.get(key).cloned().unwrap_or_default();
        let recorded = Authorities::read(get(&record, CA_CRT).as_bytes(), get(&record, CA_KEY).as_bytes());
        let bundle = get(&serving, CA_CRT);
        let leaf = Leaf::read(get(&serving, TLS_CRT).as_bytes(), get(&serving, TLS_KEY).as_bytes());
        let signed = leaf.is_some_and(|leaf| recorded.found.iter().any(|it| it.key.is_some() && it.signed(&leaf)));
        let trusted = installation.bundles().iter().all(|it| *it == bundle && *it == get(&record, CA_CRT));
        if signed && trusted && !recorded.foreign { Ok(()) } else { Err(format!("{recorded:?}, {signed}, {trusted}")) }
    });
}

/// Replicas keep what they have, whatever happens to the Secrets.
#[rstest]
#[case::record_wiped(wipe, CA_SECRET)]
#[case::record_corrupted(corrupt, CA_SECRET)]
#[case::record_replaced(replace, CA_SECRET)]
#[case::record_deleted(delete, CA_SECRET)]
#[case::serving_wiped(wipe, SERVING_SECRET)]
#[case::serving_corrupted(corrupt, SERVING_SECRET)]
#[case::serving_replaced(replace, SERVING_SECRET)]
#[case::serving_deleted(delete, SERVING_SECRET)]
fn no_call_fails_whatever_happens_to_a_secret(#[case] harm: Harm, #[case] name: &str) {
    let installation = Installation::new(2);
    {
        let _leader = Leader::start(&installation, OVERLAP_OF_5_S);
        installation.ready();
        installation.patched();
    }
    let seen = witness(&installation, |looks| {
        harm(&installation, name, looks);
        // For a while nobody leads, and replicas are left alone with what they find.
        looks.more(LOOKS);
        let _leader = Leader::start(&installation, OVERLAP_OF_5_S);
        settled(&installation);
    });
    seen.check(LOOKS);
}

#[rstest]
#[case::wiped("")]
#[case::replaced(&Certificate::new().pem)]
#[case::garbage("hello\n")]
fn the_ca_bundle_is_restored(#[case] other: &str) {
    let installation = Installation::new(1);
    let _leader = Leader::start(&installation, LONG);
    installation.ready();
    installation.patched();
    for webhook in 0..3 {
        installation.set_bundle(webhook, other);
        settled(&installation);
    }
    installation.patched();
}

/// Both Secrets and every `caBundle`, at once: nothing is left to begin with, as at the first start.
#[test]
fn all_is_made_again_when_all_is_lost() {
    let installation = Installation::new(1);
    {
        let _leader = Leader::start(&installation, LONG);
        installation.ready();
        installation.patched();
    }
    for name in [CA_SECRET, SERVING_SECRET] {
        installation.overwrite(name, &json!({}));
    }
    (0..3).for_each(|webhook| installation.set_bundle(webhook, ""));
    let _leader = Leader::start(&installation, LONG);
    settled(&installation);
    installation.patched();
}
