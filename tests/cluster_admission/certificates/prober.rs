//! A prober that checks at a steady rate that calls and handshakes succeed.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::installation::Installation;
use trainmesh_testing::cluster::{TIMEOUT, eventually};

/// Interval between calls of the apiserver, and between handshakes with each replica.
const INTERVAL: Duration = Duration::from_millis(100);

/// Least time for which a CA stays valid after the bundle has its successor, in the tests with a prober.
const OVERLAP: Duration = Duration::from_secs(10);

/// Number of probes so far.
#[derive(Debug, Default)]
pub struct ProbeCounts {
    calls: AtomicU32,
    handshakes: AtomicU32,
}

/// Results of the probes.
#[derive(Debug, Default)]
pub struct ProbeReport {
    /// Number of pods that were patched.
    pub calls: u32,
    /// Number of handshakes that trusted the `caBundle`.
    pub handshakes: u32,
    /// Descriptions of failures.
    pub failures: Vec<String>,
}

impl ProbeReport {
    /// Panics if a probe failed or if there were too few probes.
    pub fn check(&self, min_probes: u32) {
        let Self { calls, handshakes, failures } = self;
        assert!(failures.is_empty(), "{} of {calls} calls, {handshakes} handshakes: {failures:#?}", failures.len());
        assert!(
            *calls >= min_probes && *handshakes >= min_probes,
            "too few probes: {calls} calls, {handshakes} handshakes"
        );
    }
}

impl ProbeCounts {
    /// Returns true if there were at least this many probes of each kind.
    pub fn reached(&self, count: u32) -> bool {
        [&self.calls, &self.handshakes].into_iter().all(|counter| counter.load(Ordering::Relaxed) >= count)
    }

    /// Waits for this many more probes of each kind.
    pub fn wait_for(&self, count: u32) {
        let [calls, handshakes] =
            [&self.calls, &self.handshakes].map(|counter| (counter.load(Ordering::Relaxed) + count, counter));
        eventually(TIMEOUT, "the prober makes progress", || {
            let left = [calls, handshakes].map(|(end, counter)| end.saturating_sub(counter.load(Ordering::Relaxed)));
            if left == [0, 0] { Ok(()) } else { Err(format!("{left:?} are left")) }
        });
    }
}

/// Probes creations (dry run) and handshakes while `during` runs, and returns the results.
pub fn probe(installation: &Installation, during: impl FnOnce(&ProbeCounts)) -> ProbeReport {
    let (stop, counts) = (AtomicBool::new(false), ProbeCounts::default());
    thread::scope(|scope| {
        let calls = scope.spawn(|| calls(installation, &stop, &counts.calls));
        let handshakes = scope.spawn(|| handshakes(installation, &stop, &counts.handshakes));
        // Stop the probes even if `during` panics.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| during(&counts)));
        stop.store(true, Ordering::Relaxed);
        let (calls, handshakes) = (calls.join().unwrap(), handshakes.join().unwrap());
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        let failures = [calls.failures, handshakes.failures].concat();
        ProbeReport { calls: calls.calls, handshakes: handshakes.handshakes, failures }
    })
}

fn calls(installation: &Installation, stop: &AtomicBool, counter: &AtomicU32) -> ProbeReport {
    let pod = json!({"metadata": {"generateName": "train-"},
        "spec": {"containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}});
    let mut report = ProbeReport::default();
    repeat(stop, counter, |since| match installation.served.create_dry_run(&pod) {
        Ok(created) if created["metadata"]["annotations"]["trainmesh.dev/applied"].is_string() => {
            report.calls += 1;
        }
        Ok(_) => report.failures.push(format!("{since:?}: the call failed open")),
        Err(error) => report.failures.push(format!("{since:?}: {error}")),
    });
    report
}

fn handshakes(installation: &Installation, stop: &AtomicBool, counter: &AtomicU32) -> ProbeReport {
    let host = installation.host();
    let mut report = ProbeReport::default();
    repeat(stop, counter, |since| {
        let read = Instant::now();
        if let Some(bundle) = installation.bundles().pop() {
            for (index, replica) in installation.replicas.iter().enumerate() {
                match replica.handshake(&bundle, &host) {
                    Ok(()) => report.handshakes += 1,
                    // On a busy machine, the bundle may have been replaced for so long that it is no longer valid.
                    Err(_) if read.elapsed() > OVERLAP && installation.bundles().pop().as_ref() != Some(&bundle) => {}
                    Err(error) => report.failures.push(format!("{since:?}: replica {index}: {error}")),
                }
            }
        }
    });
    report
}

fn repeat(stop: &AtomicBool, counter: &AtomicU32, mut probe_once: impl FnMut(Duration)) {
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        probe_once(began.elapsed());
        counter.fetch_add(1, Ordering::Relaxed);
        thread::sleep(INTERVAL);
    }
}
