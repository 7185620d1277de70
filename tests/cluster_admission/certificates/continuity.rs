//! From empty Secrets to a patched pod, and through rotations, without a failed call.

use std::collections::BTreeSet;
use std::env;
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use trainmesh::certs::read::CaSet;
use trainmesh_core::certs::step::CertificateId;
use trainmesh_core::objects::secret::{CA_CRT, CA_KEY, TLS_CRT};
use trainmesh_core::objects::{CA_SECRET, SERVING_SECRET};

use super::installation::Installation;
use super::leader::{Leader, schedule};
use super::prober::{ProbeCounts, probe};

/// Default lifetimes of the CA and the serving certificate.
pub const DEFAULT_LIFETIMES: (u64, u64) = (365 * 24 * 3600, 90 * 24 * 3600);
/// Replaces the CA every 80 s and the serving certificate every 40 s, with an overlap of 10 s in which the apiserver learns of a
/// new CA, also on a busy machine.
const SHORT_LIFETIMES: (u64, u64) = (120, 60);
/// Longest time for one CA rotation, which takes less than three minutes.
const ROTATION_TIMEOUT: Duration = Duration::from_mins(8);
/// Minimum number of calls, and of handshakes, in a rotation; a busy machine rotates until it has made them.
const MIN_PROBES: u32 = 100;
/// Environment variable: minimum duration of the rotation in seconds; `make soak` sets minutes.
const DURATION_VARIABLE: &str = "ROTATION_SECONDS";

#[test]
fn from_empty_secrets_to_a_patched_pod() {
    let installation = Installation::new(2);
    let waiting = |replica: &super::replica::Replica| replica.readiness().contains("certificate");
    assert!(installation.replicas.iter().all(waiting), "without a certificate, no replica may be ready");
    let leader = Leader::start(&installation, DEFAULT_LIFETIMES);
    installation.wait_ready();
    installation.wait_patched();
    let bundles: BTreeSet<String> = installation.bundles().into_iter().collect();
    assert_eq!(bundles, BTreeSet::from([installation.secret(SERVING_SECRET)[CA_CRT].clone()]));
    assert!(!installation.secret(SERVING_SECRET).contains_key(CA_KEY), "only the controller may have the CA key");
    drop(leader);
}

/// One leader, two concurrent leaders, and leaders that each stop after one write.
#[rstest]
#[case::one(Leadership::Concurrent(1), 2)]
#[case::two_at_once(Leadership::Concurrent(2), 1)]
#[case::each_stops_after_a_write(Leadership::StopAfterWrite, 1)]
fn no_call_fails_while_certificates_rotate(#[case] leadership: Leadership, #[case] rotations: u32) {
    let min_duration = env::var(DURATION_VARIABLE)
        .ok()
        .map(|seconds| Duration::from_secs(seconds.parse().expect("a number of seconds")));
    let lifetimes = SHORT_LIFETIMES;
    let installation = Installation::new(3);
    {
        let _leader = Leader::start(&installation, lifetimes);
        installation.wait_ready();
        installation.wait_patched();
    }
    let mut progress = Progress::new(rotations, min_duration.unwrap_or_default());
    let report = probe(&installation, |counts| match leadership {
        Leadership::Concurrent(leaders) => {
            let leaders: Vec<Leader> = (0..leaders).map(|_| Leader::start(&installation, lifetimes)).collect();
            while progress.advance(&installation, counts) {
                thread::sleep(schedule(lifetimes).resync_interval());
            }
            drop(leaders);
        }
        Leadership::StopAfterWrite => {
            while progress.advance(&installation, counts) {
                let (leader, stopped) = Leader::stopping_after(&installation, lifetimes, 1);
                leader.wait_stopped(&stopped, 2 * Duration::from_secs(lifetimes.1));
            }
        }
    });
    report.check(MIN_PROBES);
    let Progress { serving, retired, .. } = progress;
    assert!(serving.len() > 2 * retired.len(), "{} serving certificates of {} CAs", serving.len(), retired.len());
    println!(
        "{} calls and {} handshakes, {} serving certificates, {} CAs retired",
        report.calls,
        report.handshakes,
        serving.len(),
        retired.len()
    );
}

/// Leaders of the rotation.
#[derive(Clone, Copy, Debug)]
enum Leadership {
    Concurrent(usize),
    StopAfterWrite,
}

/// Progress of the rotation.
struct Progress {
    began: Instant,
    rotations: u32,
    min_duration: Duration,
    current: BTreeSet<CertificateId>,
    retired: BTreeSet<CertificateId>,
    serving: BTreeSet<String>,
}

impl Progress {
    fn new(rotations: u32, min_duration: Duration) -> Self {
        let [current, retired] = [BTreeSet::new(), BTreeSet::new()];
        Self { began: Instant::now(), rotations, min_duration, current, retired, serving: BTreeSet::new() }
    }

    /// Reads the Secrets, and returns true while more CAs must be retired, or more probes made.
    fn advance(&mut self, installation: &Installation, counts: &ProbeCounts) -> bool {
        let recorded = installation.secret(CA_SECRET);
        let recorded = CaSet::read(recorded[CA_CRT].as_bytes(), recorded[CA_KEY].as_bytes());
        assert!(!recorded.foreign && recorded.cas.len() <= 2, "{recorded:?}");
        let current: BTreeSet<CertificateId> = recorded.cas.iter().map(|ca| ca.id).collect();
        self.retired.extend(self.current.difference(&current));
        self.current = current;
        self.serving.insert(installation.secret(SERVING_SECRET)[TLS_CRT].clone());

        let rotated = self.retired.len() >= usize::try_from(self.rotations).unwrap();
        let done = rotated && counts.reached(MIN_PROBES);
        let elapsed = self.began.elapsed();
        assert!(
            done || elapsed < self.rotations * ROTATION_TIMEOUT,
            "{} CAs retired after {elapsed:?}, {counts:?}",
            self.retired.len()
        );
        !done || elapsed < self.min_duration
    }
}
