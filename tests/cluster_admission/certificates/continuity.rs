//! From empty Secrets to a patched pod, and through rotations without a failed call.

use std::collections::BTreeSet;
use std::env;
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use trainmesh::certs::read::Authorities;
use trainmesh_core::certs::step::Id;
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT};
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET};

use super::installation::Installation;
use super::leader::{Leader, schedule};
use super::witness::witness;

/// Lifetimes of CA and leaf as they are installed.
pub const LONG: (u64, u64) = (365 * 24 * 3600, 90 * 24 * 3600);
/// A CA is replaced every 32 s, a leaf every 16 s, and the overlap is 4 s.
const SHORT: (u64, u64) = (48, 24);
/// From a CA to the end of the one before it: less than two minutes, where nothing hangs.
const ROTATION: Duration = Duration::from_mins(3);
/// A CA is replaced every minute, a leaf every 30 s: what a busy machine keeps up with for as long as one likes.
const STEADY: (u64, u64) = (90, 45);
/// Calls, and handshakes, within a rotation: many more on a machine that is idle.
const AT_LEAST_CALLS: u32 = 100;
/// For how many seconds certificates are to rotate at least; `make soak` asks for minutes.
const AT_LEAST: &str = "ROTATION_SECONDS";

#[test]
fn from_empty_secrets_to_a_patched_pod() {
    let installation = Installation::new(2);
    let waiting = |replica: &super::replica::Replica| replica.readiness().contains("certificate");
    assert!(installation.replicas.iter().all(waiting), "without a certificate no replica is ready");
    let leader = Leader::start(&installation, LONG);
    installation.ready();
    installation.patched();
    let bundles: BTreeSet<String> = installation.bundles().into_iter().collect();
    assert_eq!(bundles, BTreeSet::from([installation.secret(SERVING_SECRET)[CA_CRT].clone()]));
    assert!(!installation.secret(SERVING_SECRET).contains_key(CA_KEY), "the key of the CA is the controller's alone");
    drop(leader);
}

/// One leader, two at once, and leaders each of whom ends after a write.
#[rstest]
#[case::one(Leadership::Steady(1), 2)]
#[case::two_at_once(Leadership::Steady(2), 1)]
#[case::each_ends_after_a_write(Leadership::Mortal, 1)]
fn no_call_fails_while_certificates_rotate(#[case] leadership: Leadership, #[case] rotations: u32) {
    let at_least =
        env::var(AT_LEAST).ok().map(|seconds| Duration::from_secs(seconds.parse().expect("a number of seconds")));
    let lifetimes = if at_least.is_some() { STEADY } else { SHORT };
    let installation = Installation::new(3);
    {
        let _leader = Leader::start(&installation, lifetimes);
        installation.ready();
        installation.patched();
    }
    let mut progress = Progress::new(rotations, at_least.unwrap_or_default());
    let seen = witness(&installation, |_| match leadership {
        Leadership::Steady(leaders) => {
            let leaders: Vec<Leader> = (0..leaders).map(|_| Leader::start(&installation, lifetimes)).collect();
            while progress.goes_on(&installation) {
                thread::sleep(schedule(lifetimes).look());
            }
            drop(leaders);
        }
        Leadership::Mortal => {
            while progress.goes_on(&installation) {
                let (leader, dead) = Leader::mortal(&installation, lifetimes, 1);
                leader.die(&dead, 2 * Duration::from_secs(lifetimes.1));
            }
        }
    });
    seen.check(AT_LEAST_CALLS);
    let Progress { leaves, gone, .. } = progress;
    assert!(leaves.len() > 2 * gone.len(), "{} leaves of {} CAs", leaves.len(), gone.len());
    println!(
        "{} calls and {} handshakes, {} leaves, {} CAs gone",
        seen.calls,
        seen.handshakes,
        leaves.len(),
        gone.len()
    );
}

/// Who leads.
#[derive(Clone, Copy, Debug)]
enum Leadership {
    Steady(usize),
    Mortal,
}

/// How far certificates have rotated.
struct Progress {
    began: Instant,
    rotations: u32,
    at_least: Duration,
    living: BTreeSet<Id>,
    gone: BTreeSet<Id>,
    leaves: BTreeSet<String>,
}

impl Progress {
    fn new(rotations: u32, at_least: Duration) -> Self {
        let [living, gone] = [BTreeSet::new(), BTreeSet::new()];
        Self { began: Instant::now(), rotations, at_least, living, gone, leaves: BTreeSet::new() }
    }

    /// Looks at what stands in the Secrets, and tells whether so many CAs are still to come to their end.
    fn goes_on(&mut self, installation: &Installation) -> bool {
        let recorded = installation.secret(CA_SECRET);
        let recorded = Authorities::read(recorded[CA_CRT].as_bytes(), recorded[CA_KEY].as_bytes());
        assert!(!recorded.foreign && recorded.found.len() <= 2, "{recorded:?}");
        let living: BTreeSet<Id> = recorded.found.iter().map(|it| it.id).collect();
        self.gone.extend(self.living.difference(&living));
        self.living = living;
        self.leaves.insert(installation.secret(SERVING_SECRET)[TLS_CRT].clone());

        let rotated = self.gone.len() >= usize::try_from(self.rotations).unwrap();
        let elapsed = self.began.elapsed();
        assert!(rotated || elapsed < self.rotations * ROTATION, "{} CAs gone after {elapsed:?}", self.gone.len());
        !rotated || elapsed < self.at_least
    }
}
