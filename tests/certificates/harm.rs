//! What others do to Secrets and `caBundle`.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use k8s_openapi::ByteString;
use rstest::rstest;
use serde_json::{Value, json};
use trainmesh::certs::read::{Authorities, Leaf};
use trainmesh::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh::objects::{CA_SECRET, SERVING_SECRET};

use crate::cluster::{PATIENCE, eventually};
use crate::continuity::LONG;
use crate::installation::{Installation, empty};
use crate::leader::Leader;
use crate::webhook::Certificate;
use crate::witness::witness;

/// The overlap is 5 s, so that what takes it ends within the test; no leaf is due before.
const OVERLAP_OF_5_S: (u64, u64) = (60, 60);

fn bytes(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap()
}

fn wipe(installation: &Installation, name: &str) {
    installation.overwrite(name, &json!({}));
}

fn corrupt(installation: &Installation, name: &str) {
    let half = |text: &String| bytes(&text[..text.len() / 2]);
    let data: Value = installation.secret(name).iter().map(|(key, text)| (key.clone(), half(text))).collect();
    installation.overwrite(name, &data);
}

/// By those of somebody else, which belong together.
fn replace(installation: &Installation, name: &str) {
    let other = Certificate::new();
    let (pem, key) = (bytes(&other.pem), bytes(&other.key.serialize_pem()));
    installation.overwrite(name, &json!({CA_CRT: pem, TLS_CRT: pem, CA_KEY: key, TLS_KEY: key}));
}

fn delete(installation: &Installation, name: &str) {
    let _ = installation.home.kubectl(&["delete", "secret", name], "").success();
    // The next upgrade of the chart, or whoever keeps it in step, makes it again.
    thread::sleep(Duration::from_secs(1));
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
fn no_call_fails_whatever_happens_to_a_secret(#[case] harm: fn(&Installation, &str), #[case] name: &str) {
    let installation = Installation::new(2);
    {
        let _leader = Leader::start(&installation, OVERLAP_OF_5_S);
        installation.ready();
        installation.patched();
    }
    let seen = witness(&installation, || {
        harm(&installation, name);
        // For a while nobody leads, and replicas are left alone with what they find.
        thread::sleep(Duration::from_secs(2));
        let _leader = Leader::start(&installation, OVERLAP_OF_5_S);
        settled(&installation);
    });
    assert!(seen.failures.is_empty(), "{:#?}", seen.failures);
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
    wipe(&installation, CA_SECRET);
    wipe(&installation, SERVING_SECRET);
    (0..3).for_each(|webhook| installation.set_bundle(webhook, ""));
    let _leader = Leader::start(&installation, LONG);
    settled(&installation);
    installation.patched();
}
