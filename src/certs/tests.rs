//! Rotation with real certificates and an in-memory store: first issuance, renewal, and recovery from invalid data.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair};
use rstest::rstest;
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;

use super::read::{CaSet, ServingCertificate};
use super::state::State;
use super::*;
use trainmesh_core::certs::Schedule;
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{Secret, WebhookConfiguration};

const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";
const WEBHOOKS: usize = 3;
const DAY: i64 = 24 * 3600;

/// An in-memory store.
struct MemoryStore {
    bundles: Vec<Vec<u8>>,
    ca_secret: BTreeMap<String, Vec<u8>>,
    serving_secret: BTreeMap<String, Vec<u8>>,
    second: i64,
}

impl MemoryStore {
    /// Returns the store as the chart creates it.
    fn installed() -> Self {
        let bundles = vec![Vec::new(); WEBHOOKS];
        Self { bundles, ca_secret: BTreeMap::new(), serving_secret: BTreeMap::new(), second: 1_800_000_000 }
    }

    /// Returns a store after the first issuance.
    fn issued() -> Self {
        let mut store = Self::installed();
        assert_eq!(store.run(false), 3);
        store
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.second).unwrap()
    }

    fn state(&self) -> State {
        let stored = StoredCertificates {
            webhook_configuration: Some(WebhookConfiguration {
                resource_version: "1".to_owned(),
                ca_bundles: self.bundles.clone(),
            }),
            ca_secret: Some(Secret::new("1", self.ca_secret.clone())),
            serving_secret: Some(Secret::new("1", self.serving_secret.clone())),
            now: self.now(),
        };
        State::read(&stored, HOST)
    }

    /// Takes steps until none is left, and returns their number. `established` makes all trusted CAs established.
    fn run(&mut self, established: bool) -> usize {
        let schedule = Schedule::new(Duration::from_hours(365 * 24), Duration::from_hours(90 * 24)).unwrap();
        for count in 0.. {
            let mut state = self.state();
            let established_ids = if established { state.facts().trusted_ids().collect() } else { BTreeSet::new() };
            let step = state.next_step(established_ids, &schedule);
            match state.plan_write(&step, &schedule, HOST).unwrap() {
                None => return count,
                Some(write) => self.write(write),
            }
            assert!(count < 10, "{step:?}");
        }
        unreachable!("it returns")
    }

    fn write(&mut self, write: StoreWrite) {
        let bytes = |key: &str, text: &str| (key.to_owned(), text.as_bytes().to_vec());
        match write {
            StoreWrite::CaSecret { certificates, keys } => {
                self.ca_secret.extend([bytes(CA_CRT, &certificates), bytes(CA_KEY, keys.pem())]);
            }
            StoreWrite::CaBundle { certificates } => {
                for bundle in &mut self.bundles {
                    *bundle = certificates.as_bytes().to_vec();
                }
            }
            StoreWrite::Serving { certificates, pair } => {
                self.serving_secret.extend([bytes(CA_CRT, &certificates)]);
                let pair = pair.map(|pair| [bytes(TLS_CRT, &pair.certificate), bytes(TLS_KEY, pair.key.pem())]);
                self.serving_secret.extend(pair.into_iter().flatten());
            }
        }
    }

    fn cas(&self) -> CaSet {
        CaSet::read(&self.ca_secret[CA_CRT], &self.ca_secret[CA_KEY])
    }

    /// Verifies `certificate` as a client that trusts `bundle`.
    fn verify(&self, certificate: &[u8], bundle: &[u8], host: &str) -> Result<(), rustls::Error> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(bundle) {
            roots.add(root.unwrap()).unwrap();
        }
        let certificate = CertificateDer::from_pem_slice(certificate).unwrap();
        let certificate = ParsedCertificate::try_from(&certificate).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(self.second.unsigned_abs()));
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_server_cert_signed_by_trust_anchor(&certificate, &roots, &[], now, algorithms.all)?;
        verify_server_name(&certificate, &ServerName::try_from(host).unwrap())
    }

    fn check_trusted(&self, certificate: &[u8]) {
        for bundle in &self.bundles {
            self.verify(certificate, bundle, HOST).unwrap();
        }
    }
}

#[test]
fn the_first_certificate_is_trusted_by_clients() {
    let store = MemoryStore::issued();
    let certificate = &store.serving_secret[TLS_CRT];
    store.check_trusted(certificate);
    store.verify(certificate, &MemoryStore::issued().bundles[0], HOST).unwrap_err();
    store.verify(certificate, &store.bundles[0], "trainmesh-webhook.another.svc").unwrap_err();
    let read = ServingCertificate::read(certificate, &store.serving_secret[TLS_KEY]).unwrap();
    assert!(read.matches_host(HOST) && !read.matches_host("trainmesh-webhook.another.svc"));
    assert!(CaSet::read(&store.serving_secret[CA_CRT], b"").cas[0].has_signed(&read));
}

#[test]
fn a_rotation_keeps_the_old_ca_until_it_expires() {
    let mut store = MemoryStore::issued();
    let old = store.bundles[0].clone();
    let check = |store: &MemoryStore, by_old: bool, keys: &[bool]| {
        store.check_trusted(&store.serving_secret[TLS_CRT]);
        assert_eq!(store.verify(&store.serving_secret[TLS_CRT], &old, HOST).is_ok(), by_old);
        let has_key: Vec<bool> = store.cas().cas.iter().map(|ca| ca.key.is_some()).collect();
        assert_eq!(has_key, keys);
    };
    store.second += 61 * DAY;
    assert_eq!(store.run(false), 1, "a new serving certificate");
    check(&store, true, &[true]);
    store.second += 183 * DAY;
    assert_eq!(store.run(false), 3, "a new CA is stored and trusted; the certificate is renewed");
    check(&store, true, &[true, true]);
    assert_eq!(store.run(true), 2, "the new CA signs; the key of the old one is removed");
    check(&store, false, &[true, false]);
    store.second += 122 * DAY;
    store.run(true);
    check(&store, false, &[true]);
}

/// Returns a CA of another issuer, with its key.
fn foreign() -> (Vec<u8>, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    (params.self_signed(&key).unwrap().pem().into_bytes(), key.serialize_pem().into_bytes())
}

fn wipe_ca_secret(store: &mut MemoryStore) {
    store.ca_secret.clear();
}

fn garbage_in_ca_secret(store: &mut MemoryStore) {
    store.ca_secret.insert(CA_CRT.to_owned(), vec![0xff, 0]);
}

fn truncated_ca_key(store: &mut MemoryStore) {
    let key = &store.ca_secret[CA_KEY];
    let half = key[..key.len() / 2].to_vec();
    store.ca_secret.insert(CA_KEY.to_owned(), half);
}

fn foreign_ca_secret(store: &mut MemoryStore) {
    let (certificate, key) = foreign();
    store.ca_secret.extend([(CA_CRT.to_owned(), certificate), (CA_KEY.to_owned(), key)]);
}

fn ca_secret_of_another_cluster(store: &mut MemoryStore) {
    store.ca_secret = MemoryStore::issued().ca_secret;
}

fn wipe_serving_secret(store: &mut MemoryStore) {
    store.serving_secret.clear();
}

fn key_of_another_certificate(store: &mut MemoryStore) {
    store.serving_secret.insert(TLS_KEY.to_owned(), foreign().1);
}

fn foreign_serving_secret(store: &mut MemoryStore) {
    let (certificate, key) = foreign();
    store.serving_secret = [(TLS_CRT, certificate.clone()), (TLS_KEY, key), (CA_CRT, certificate)]
        .map(|(key, bytes)| (key.to_owned(), bytes))
        .into();
}

fn wipe_both_secrets(store: &mut MemoryStore) {
    wipe_ca_secret(store);
    wipe_serving_secret(store);
}

fn wipe_one_bundle(store: &mut MemoryStore) {
    store.bundles[1].clear();
}

fn foreign_bundle(store: &mut MemoryStore) {
    store.bundles[2] = foreign().0;
}

#[rstest]
#[case::wipe_ca_secret(wipe_ca_secret)]
#[case::garbage_in_ca_secret(garbage_in_ca_secret)]
#[case::truncated_ca_key(truncated_ca_key)]
#[case::foreign_ca_secret(foreign_ca_secret)]
#[case::ca_secret_of_another_cluster(ca_secret_of_another_cluster)]
#[case::wipe_serving_secret(wipe_serving_secret)]
#[case::key_of_another_certificate(key_of_another_certificate)]
#[case::foreign_serving_secret(foreign_serving_secret)]
#[case::wipe_both_secrets(wipe_both_secrets)]
#[case::wipe_one_bundle(wipe_one_bundle)]
#[case::foreign_bundle(foreign_bundle)]
fn replaces_invalid_data(#[case] damage: fn(&mut MemoryStore)) {
    let mut store = MemoryStore::issued();
    let served = store.serving_secret[TLS_CRT].clone();
    damage(&mut store);
    for established in [false, true] {
        store.run(established);
        // Replicas serve the previous certificate until they load a new one.
        store.check_trusted(&served);
    }
    store.check_trusted(&store.serving_secret[TLS_CRT]);
    let cas = store.cas();
    assert!(!cas.foreign && cas.cas.iter().any(|ca| ca.key.is_some()), "{cas:?}");
}

#[test]
fn debug_output_contains_no_key() {
    let store = MemoryStore::issued();
    let cas = store.cas();
    let secret = Secret::new("1", store.serving_secret.clone());
    let pair = issue::serving_certificate(&cas.cas[0], HOST, cas.cas[0].validity).unwrap();
    let printed = format!("{cas:?} {secret:?} {pair:?} {:?}", store.state());
    for pem in [&store.ca_secret[CA_KEY], &store.serving_secret[TLS_KEY], &pair.key.pem().as_bytes().to_vec()] {
        let line = str::from_utf8(pem).unwrap().lines().nth(1).unwrap().to_owned();
        assert!(!printed.contains(&line), "{printed}");
    }
    let bytes = format!("{:?}", &store.serving_secret[TLS_KEY][40..60]);
    assert!(!printed.contains(bytes.trim_matches(['[', ']'])), "{printed}");
}
