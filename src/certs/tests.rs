//! From nothing to a leaf and through what may be found in the Secrets, with real certificates and a store in memory.

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

use super::read::{Authorities, Leaf};
use super::state::State;
use super::*;
use trainmesh_core::certs::Schedule;
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{Secret, WebhookConfiguration};

const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";
const WEBHOOKS: usize = 3;
const DAY: i64 = 24 * 3600;

/// A store in memory.
struct Memory {
    bundles: Vec<Vec<u8>>,
    record: BTreeMap<String, Vec<u8>>,
    serving: BTreeMap<String, Vec<u8>>,
    second: i64,
}

impl Memory {
    /// As the chart makes it.
    fn installed() -> Self {
        let bundles = vec![Vec::new(); WEBHOOKS];
        Self { bundles, record: BTreeMap::new(), serving: BTreeMap::new(), second: 1_800_000_000 }
    }

    /// With everything in place.
    fn settled() -> Self {
        let mut memory = Self::installed();
        assert_eq!(memory.run(false), 3);
        memory
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.second).unwrap()
    }

    fn state(&self) -> State {
        let stored = Stored {
            webhook_configuration: Some(WebhookConfiguration {
                resource_version: "1".to_owned(),
                ca_bundles: self.bundles.clone(),
            }),
            record: Some(Secret::new("1", self.record.clone())),
            serving: Some(Secret::new("1", self.serving.clone())),
            now: self.now(),
        };
        State::read(&stored, HOST)
    }

    /// Takes steps until there is none, and returns how many; with `established` as if all were trusted for long.
    fn run(&mut self, established: bool) -> usize {
        let schedule = Schedule::new(Duration::from_hours(365 * 24), Duration::from_hours(90 * 24)).unwrap();
        for count in 0.. {
            let mut state = self.state();
            let long = if established { state.facts().trusted_ids().collect() } else { BTreeSet::new() };
            let step = state.next(long, &schedule);
            match state.write(&step, &schedule, HOST).unwrap() {
                None => return count,
                Some(write) => self.write(write),
            }
            assert!(count < 10, "{step:?}");
        }
        unreachable!("it returns")
    }

    fn write(&mut self, write: Write) {
        let bytes = |key: &str, text: &str| (key.to_owned(), text.as_bytes().to_vec());
        match write {
            Write::Record { certificates, keys } => {
                self.record.extend([bytes(CA_CRT, &certificates), bytes(CA_KEY, keys.pem())]);
            }
            Write::Trust { certificates } => {
                for bundle in &mut self.bundles {
                    *bundle = certificates.as_bytes().to_vec();
                }
            }
            Write::Serving { certificates, leaf } => {
                self.serving.extend([bytes(CA_CRT, &certificates)]);
                let pair = leaf.map(|pair| [bytes(TLS_CRT, &pair.certificate), bytes(TLS_KEY, pair.key.pem())]);
                self.serving.extend(pair.into_iter().flatten());
            }
        }
    }

    fn authorities(&self) -> Authorities {
        Authorities::read(&self.record[CA_CRT], &self.record[CA_KEY])
    }

    /// What a client who trusts `bundle` says of `leaf`.
    fn verify(&self, leaf: &[u8], bundle: &[u8], host: &str) -> Result<(), rustls::Error> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(bundle) {
            roots.add(root.unwrap()).unwrap();
        }
        let leaf = CertificateDer::from_pem_slice(leaf).unwrap();
        let leaf = ParsedCertificate::try_from(&leaf).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(self.second.unsigned_abs()));
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], now, algorithms.all)?;
        verify_server_name(&leaf, &ServerName::try_from(host).unwrap())
    }

    fn check_trusted(&self, leaf: &[u8]) {
        for bundle in &self.bundles {
            self.verify(leaf, bundle, HOST).unwrap();
        }
    }
}

#[test]
fn from_nothing_to_a_leaf_that_clients_take() {
    let memory = Memory::settled();
    let leaf = &memory.serving[TLS_CRT];
    memory.check_trusted(leaf);
    memory.verify(leaf, &Memory::settled().bundles[0], HOST).unwrap_err();
    memory.verify(leaf, &memory.bundles[0], "trainmesh-webhook.another.svc").unwrap_err();
    let read = Leaf::read(leaf, &memory.serving[TLS_KEY]).unwrap();
    assert!(read.fits(HOST) && !read.fits("trainmesh-webhook.another.svc"));
    assert!(Authorities::read(&memory.serving[CA_CRT], b"").found[0].signed(&read));
}

#[test]
fn a_rotation_keeps_the_old_one_until_it_expires() {
    let mut memory = Memory::settled();
    let old = memory.bundles[0].clone();
    let check = |memory: &Memory, by_old: bool, keys: &[bool]| {
        memory.check_trusted(&memory.serving[TLS_CRT]);
        assert_eq!(memory.verify(&memory.serving[TLS_CRT], &old, HOST).is_ok(), by_old);
        let keyed: Vec<bool> = memory.authorities().found.iter().map(|it| it.key.is_some()).collect();
        assert_eq!(keyed, keys);
    };
    memory.second += 61 * DAY;
    assert_eq!(memory.run(false), 1, "another leaf");
    check(&memory, true, &[true]);
    memory.second += 183 * DAY;
    assert_eq!(memory.run(false), 3, "another CA is recorded and trusted, and stands beside a leaf that was due");
    check(&memory, true, &[true, true]);
    assert_eq!(memory.run(true), 2, "it signs; the key of the old one is dropped");
    check(&memory, false, &[true, false]);
    memory.second += 122 * DAY;
    memory.run(true);
    check(&memory, false, &[true]);
}

/// Somebody's own CA, with its key.
fn foreign() -> (Vec<u8>, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    (params.self_signed(&key).unwrap().pem().into_bytes(), key.serialize_pem().into_bytes())
}

fn wipe_record(memory: &mut Memory) {
    memory.record.clear();
}

fn garbage_record(memory: &mut Memory) {
    memory.record.insert(CA_CRT.to_owned(), vec![0xff, 0]);
}

fn half_record(memory: &mut Memory) {
    let key = &memory.record[CA_KEY];
    let half = key[..key.len() / 2].to_vec();
    memory.record.insert(CA_KEY.to_owned(), half);
}

fn foreign_record(memory: &mut Memory) {
    let (certificate, key) = foreign();
    memory.record.extend([(CA_CRT.to_owned(), certificate), (CA_KEY.to_owned(), key)]);
}

fn another_clusters_record(memory: &mut Memory) {
    memory.record = Memory::settled().record;
}

fn wipe_serving(memory: &mut Memory) {
    memory.serving.clear();
}

fn other_key(memory: &mut Memory) {
    memory.serving.insert(TLS_KEY.to_owned(), foreign().1);
}

fn foreign_serving(memory: &mut Memory) {
    let (certificate, key) = foreign();
    memory.serving = [(TLS_CRT, certificate.clone()), (TLS_KEY, key), (CA_CRT, certificate)]
        .map(|(key, bytes)| (key.to_owned(), bytes))
        .into();
}

fn wipe_both(memory: &mut Memory) {
    wipe_record(memory);
    wipe_serving(memory);
}

fn wipe_one_bundle(memory: &mut Memory) {
    memory.bundles[1].clear();
}

fn foreign_bundle(memory: &mut Memory) {
    memory.bundles[2] = foreign().0;
}

#[rstest]
#[case::wipe_record(wipe_record)]
#[case::garbage_record(garbage_record)]
#[case::half_record(half_record)]
#[case::foreign_record(foreign_record)]
#[case::another_clusters_record(another_clusters_record)]
#[case::wipe_serving(wipe_serving)]
#[case::other_key(other_key)]
#[case::foreign_serving(foreign_serving)]
#[case::wipe_both(wipe_both)]
#[case::wipe_one_bundle(wipe_one_bundle)]
#[case::foreign_bundle(foreign_bundle)]
fn what_is_found_broken_is_replaced(#[case] harm: fn(&mut Memory)) {
    let mut memory = Memory::settled();
    let shown = memory.serving[TLS_CRT].clone();
    harm(&mut memory);
    for established in [false, true] {
        memory.run(established);
        // Replicas show the leaf of before until there is another one.
        memory.check_trusted(&shown);
    }
    memory.check_trusted(&memory.serving[TLS_CRT]);
    let authorities = memory.authorities();
    assert!(!authorities.foreign && authorities.found.iter().any(|it| it.key.is_some()), "{authorities:?}");
}

#[test]
fn no_key_is_printed() {
    let memory = Memory::settled();
    let authorities = memory.authorities();
    let secret = Secret::new("1", memory.serving.clone());
    let pair = mint::leaf(&authorities.found[0], HOST, authorities.found[0].dates).unwrap();
    let printed = format!("{authorities:?} {secret:?} {pair:?} {:?}", memory.state());
    for pem in [&memory.record[CA_KEY], &memory.serving[TLS_KEY], &pair.key.pem().as_bytes().to_vec()] {
        let line = str::from_utf8(pem).unwrap().lines().nth(1).unwrap().to_owned();
        assert!(!printed.contains(&line), "{printed}");
    }
    let bytes = format!("{:?}", &memory.serving[TLS_KEY][40..60]);
    assert!(!printed.contains(bytes.trim_matches(['[', ']'])), "{printed}");
}
