//! From empty Secrets to a patched pod, and through rotations without a failed call.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use trainmesh::certs::read::Authorities;
use trainmesh::certs::{CA_CRT, CA_KEY, RECORD, SERVING, TLS_CRT};

use crate::installation::Installation;
use crate::leader::{Leader, schedule};
use crate::witness::{Seen, witness};

/// Lifetimes of CA and leaf as they are installed.
pub const LONG: (u64, u64) = (365 * 24 * 3600, 90 * 24 * 3600);
/// A CA is replaced every 32 s, a leaf every 16 s, and the overlap is 4 s.
const SHORT: (u64, u64) = (48, 24);
/// Long enough for the second CA to be replaced by a third, and for the first to be gone.
const TWO_ROTATIONS: Duration = Duration::from_secs(85);

fn check(seen: &Seen) {
    assert!(seen.failures.is_empty(), "{} of {} calls: {:#?}", seen.failures.len(), seen.calls, seen.failures);
    assert!(seen.calls > 100 && seen.handshakes > 100, "{} calls, {} handshakes", seen.calls, seen.handshakes);
}

#[test]
fn from_empty_secrets_to_a_patched_pod() {
    let installation = Installation::new(2);
    let waiting = |replica: &crate::replica::Replica| replica.readiness().contains("certificate");
    assert!(installation.replicas.iter().all(waiting), "without a certificate no replica is ready");
    let leader = Leader::start(&installation, LONG);
    installation.ready();
    installation.patched();
    let bundles: BTreeSet<String> = installation.bundles().into_iter().collect();
    assert_eq!(bundles, BTreeSet::from([installation.secret(SERVING)[CA_CRT].clone()]));
    assert!(!installation.secret(SERVING).contains_key(CA_KEY), "the key of the CA is the controller's alone");
    drop(leader);
}

/// One leader, two at once, and leaders each of whom ends after so many writes.
#[rstest]
#[case::one(Leadership::Steady(1))]
#[case::two_at_once(Leadership::Steady(2))]
#[case::each_ends_after_a_write(Leadership::Mortal)]
fn no_call_fails_while_certificates_rotate(#[case] leadership: Leadership) {
    let installation = Installation::new(3);
    {
        let _leader = Leader::start(&installation, SHORT);
        installation.ready();
        installation.patched();
    }
    let mut authorities = BTreeSet::new();
    let mut leaves = BTreeSet::new();
    let mut look = || {
        let recorded = installation.secret(RECORD);
        let recorded = Authorities::read(recorded[CA_CRT].as_bytes(), recorded[CA_KEY].as_bytes());
        assert!(!recorded.junk && recorded.found.len() <= 2, "{recorded:?}");
        authorities.extend(recorded.found.iter().map(|it| it.id));
        leaves.insert(installation.secret(SERVING)[TLS_CRT].clone());
    };
    let end = Instant::now() + TWO_ROTATIONS;
    let seen = witness(&installation, || match leadership {
        Leadership::Steady(leaders) => {
            let leaders: Vec<Leader> = (0..leaders).map(|_| Leader::start(&installation, SHORT)).collect();
            while Instant::now() < end {
                look();
                thread::sleep(schedule(SHORT).look());
            }
            drop(leaders);
        }
        Leadership::Mortal => {
            while Instant::now() < end {
                let (leader, dead) = Leader::mortal(&installation, SHORT, 1);
                leader.die(&dead, 2 * Duration::from_secs(SHORT.1));
                look();
            }
        }
    });
    check(&seen);
    assert!(authorities.len() >= 3 && leaves.len() >= 4, "{} CAs, {} leaves", authorities.len(), leaves.len());
}

/// Who leads.
#[derive(Clone, Copy, Debug)]
enum Leadership {
    Steady(usize),
    Mortal,
}
