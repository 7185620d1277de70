//! Who looks, at a steady rate, whether calls fail.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::installation::Installation;
use trainmesh_testing::cluster::{PATIENCE, eventually};

/// Between two calls of the apiserver, and between two handshakes with each replica.
const PAUSE: Duration = Duration::from_millis(100);

/// How often the witness has looked.
#[derive(Debug, Default)]
pub struct Looks {
    calls: AtomicU32,
    handshakes: AtomicU32,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Pods that the apiserver had patched.
    pub calls: u32,
    /// Handshakes by whoever trusts the `caBundle`.
    pub handshakes: u32,
    /// What went wrong.
    pub failures: Vec<String>,
}

impl Seen {
    /// Holds that nothing went wrong, and that there were at least so many calls and handshakes to tell.
    pub fn check(&self, at_least: u32) {
        let Self { calls, handshakes, failures } = self;
        assert!(failures.is_empty(), "{} of {calls} calls, {handshakes} handshakes: {failures:#?}", failures.len());
        assert!(*calls >= at_least && *handshakes >= at_least, "{calls} calls, {handshakes} handshakes tell nothing");
    }
}

impl Looks {
    /// Waits until the witness has looked so often again, in each way.
    pub fn more(&self, count: u32) {
        let [calls, handshakes] =
            [&self.calls, &self.handshakes].map(|looks| (looks.load(Ordering::Relaxed) + count, looks));
        eventually(PATIENCE, "the witness looks on", || {
            let left = [calls, handshakes].map(|(end, looks)| end.saturating_sub(looks.load(Ordering::Relaxed)));
            if left == [0, 0] { Ok(()) } else { Err(format!("{left:?} are left")) }
        });
    }
}

/// Runs `during` while pods are created (as a dry run) and hands shaken, and returns what was seen.
pub fn witness(installation: &Installation, during: impl FnOnce(&Looks)) -> Seen {
    let (stop, looks) = (AtomicBool::new(false), Looks::default());
    thread::scope(|scope| {
        let calls = scope.spawn(|| calls(installation, &stop, &looks.calls));
        let handshakes = scope.spawn(|| handshakes(installation, &stop, &looks.handshakes));
        // Also when it fails the others must end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| during(&looks)));
        stop.store(true, Ordering::Relaxed);
        let (calls, handshakes) = (calls.join().unwrap(), handshakes.join().unwrap());
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        let failures = [calls.failures, handshakes.failures].concat();
        Seen { calls: calls.calls, handshakes: handshakes.handshakes, failures }
    })
}

fn calls(installation: &Installation, stop: &AtomicBool, looks: &AtomicU32) -> Seen {
    let pod = json!({"metadata": {"generateName": "train-"},
        "spec": {"containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}});
    let mut seen = Seen::default();
    steadily(stop, looks, |since| match installation.served.rehearse(&pod) {
        Ok(created) if created["metadata"]["annotations"]["trainmesh.dev/applied"].is_string() => {
            seen.calls += 1;
        }
        Ok(_) => seen.failures.push(format!("{since:?}: the call failed open")),
        Err(error) => seen.failures.push(format!("{since:?}: {error}")),
    });
    seen
}

fn handshakes(installation: &Installation, stop: &AtomicBool, looks: &AtomicU32) -> Seen {
    let host = installation.host();
    let mut seen = Seen::default();
    steadily(stop, looks, |since| {
        if let Some(bundle) = installation.bundles().pop() {
            for (index, replica) in installation.replicas.iter().enumerate() {
                match replica.shake_hands(&bundle, &host) {
                    Ok(()) => seen.handshakes += 1,
                    Err(error) => seen.failures.push(format!("{since:?}: replica {index}: {error}")),
                }
            }
        }
    });
    seen
}

fn steadily(stop: &AtomicBool, looks: &AtomicU32, mut look: impl FnMut(Duration)) {
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        look(began.elapsed());
        looks.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
    }
}
