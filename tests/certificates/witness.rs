//! Who looks, at a steady rate, whether calls fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::installation::Installation;

/// Between two calls of the apiserver, and between two handshakes with each replica.
const PAUSE: Duration = Duration::from_millis(100);

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

/// Runs `during` while pods are created (as a dry run) and hands shaken, and returns what was seen.
pub fn witness(installation: &Installation, during: impl FnOnce()) -> Seen {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let calls = scope.spawn(|| calls(installation, &stop));
        let handshakes = scope.spawn(|| handshakes(installation, &stop));
        // Also when it fails the others must end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(during));
        stop.store(true, Ordering::Relaxed);
        let (calls, handshakes) = (calls.join().unwrap(), handshakes.join().unwrap());
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        let failures = [calls.failures, handshakes.failures].concat();
        Seen { calls: calls.calls, handshakes: handshakes.handshakes, failures }
    })
}

fn calls(installation: &Installation, stop: &AtomicBool) -> Seen {
    let pod = json!({"metadata": {"generateName": "train-"},
        "spec": {"containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}});
    let mut seen = Seen::default();
    steadily(stop, |since| match installation.served.rehearse(&pod) {
        Ok(created) if created["metadata"]["annotations"]["trainmesh.dev/applied"].is_string() => {
            seen.calls += 1;
        }
        Ok(_) => seen.failures.push(format!("{since:?}: the call failed open")),
        Err(error) => seen.failures.push(format!("{since:?}: {error}")),
    });
    seen
}

fn handshakes(installation: &Installation, stop: &AtomicBool) -> Seen {
    let host = installation.host();
    let mut seen = Seen::default();
    steadily(stop, |since| {
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

fn steadily(stop: &AtomicBool, mut look: impl FnMut(Duration)) {
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        look(began.elapsed());
        thread::sleep(PAUSE);
    }
}
