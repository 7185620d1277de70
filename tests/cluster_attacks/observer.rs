//! Observes the replicas from outside: memory, probes, restarts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::network::{self, Dialer};
use crate::replica::Replica;
use trainmesh_testing::release::Release;

/// Interval between probes.
const INTERVAL: Duration = Duration::from_millis(250);
/// Timeout of a readiness probe in the chart, and its failure threshold.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const FAILURE_THRESHOLD: usize = 3;

/// Observations of one replica.
#[derive(Clone, Debug, Default)]
pub struct ReplicaReport {
    pub component: &'static str,
    /// Peak resident memory in KiB.
    pub peak: u64,
    /// Number of restarts by the kubelet during the attack, and the reason of the last one.
    pub restarts: u64,
    pub last_termination: String,
    /// Number of probes, including new TLS connections like those of the apiserver.
    pub probes: usize,
    /// Errors of failed probes.
    pub failed_probes: Vec<String>,
}

/// Observes all replicas during `attack`.
pub fn during<T>(
    release: &Release,
    dialer: &Dialer,
    attack: impl FnOnce() -> T,
) -> (T, BTreeMap<String, ReplicaReport>) {
    let before = replicas(release);
    before.iter().for_each(Replica::reset_peak);
    let over = AtomicBool::new(false);
    let (result, mut reports) = thread::scope(|scope| {
        let observers: Vec<_> = before.iter().map(|replica| scope.spawn(|| observe(replica, dialer, &over))).collect();
        let stop = StopOnDrop(&over);
        let result = attack();
        drop(stop);
        let reports = observers.into_iter().map(|observer| observer.join().unwrap());
        let reports: BTreeMap<_, _> = before.iter().map(|replica| replica.name.clone()).zip(reports).collect();
        (result, reports)
    });
    let after: BTreeMap<_, _> = replicas(release).into_iter().map(|replica| (replica.name.clone(), replica)).collect();
    for replica in &before {
        let report = reports.get_mut(&replica.name).expect("every replica is observed");
        match after.get(&replica.name) {
            Some(now) => {
                report.restarts = now.restarts() - replica.restarts();
                now.last_termination().clone_into(&mut report.last_termination);
            }
            None => report.failed_probes.push("the pod is gone".to_owned()),
        }
    }
    (result, reports)
}

impl ReplicaReport {
    /// Probes like the kubelet: only repeated failures count.
    fn probe(&mut self, mut probe: impl FnMut() -> Result<(), String>) {
        self.probes += 1;
        let failures: Vec<_> = (0..FAILURE_THRESHOLD).map_while(|_| probe().err()).collect();
        if failures.len() == FAILURE_THRESHOLD {
            self.failed_probes.extend(failures.into_iter().next());
        }
    }
}

/// Returns the replicas of both servers.
pub fn replicas(release: &Release) -> Vec<Replica> {
    ["webhook", "controller"].into_iter().flat_map(|component| Replica::all(release, component)).collect()
}

fn observe(replica: &Replica, dialer: &Dialer, over: &AtomicBool) -> ReplicaReport {
    let mut report = ReplicaReport { component: replica.component, ..ReplicaReport::default() };
    let get = |path: &str| match network::get(replica.admin(), path, PROBE_TIMEOUT) {
        Ok((200, _)) => Ok(()),
        Ok((status, body)) => Err(format!("{path}: {status} {body}")),
        Err(error) => Err(format!("{path}: {error}")),
    };
    // Like an apiserver without an open connection.
    let handshake = || {
        dialer.connect_from_node(replica.tls(), PROBE_TIMEOUT).map(drop).map_err(|error| format!("handshake: {error}"))
    };
    loop {
        let last = over.load(Ordering::Relaxed);
        // A restarted process has another ID; the peak observed before the restart is kept.
        report.peak = report.peak.max(replica.peak().unwrap_or(0));
        report.probe(|| get("/healthz"));
        report.probe(|| get("/readyz"));
        if replica.component == "webhook" {
            report.probe(handshake);
        }
        if last {
            return report;
        }
        thread::sleep(INTERVAL);
    }
}

/// Stops the observers when dropped, even if the attack panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
