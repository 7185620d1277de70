//! What the replicas go through, observed from outside: memory, probes, restarts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::network::{self, Dialer};
use crate::replica::Replica;
use trainmesh_testing::release::Release;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// How long the kubelet waits for a readiness probe, as the chart says, and how many in a row must fail.
const PROBE: Duration = Duration::from_secs(2);
const FAILURES: usize = 3;

/// What one replica went through.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    pub component: &'static str,
    /// The most memory that it had resident, in KiB.
    pub peak: u64,
    /// Restarts by the kubelet meanwhile, with their reasons.
    pub restarts: u64,
    pub last_end: String,
    /// Probes that were sent, and new connections as the apiserver makes them.
    pub probes: usize,
    /// Those that failed, and how.
    pub failed_probes: Vec<String>,
}

/// Observes all replicas during `attack`.
pub fn during<T>(release: &Release, dialer: &Dialer, attack: impl FnOnce() -> T) -> (T, BTreeMap<String, Condition>) {
    let before = replicas(release);
    before.iter().for_each(Replica::reset_peak);
    let over = AtomicBool::new(false);
    let (result, mut conditions) = thread::scope(|scope| {
        let observers: Vec<_> = before.iter().map(|replica| scope.spawn(|| observe(replica, dialer, &over))).collect();
        let end = End(&over);
        let result = attack();
        drop(end);
        let conditions = observers.into_iter().map(|observer| observer.join().unwrap());
        let conditions: BTreeMap<_, _> = before.iter().map(|it| it.name.clone()).zip(conditions).collect();
        (result, conditions)
    });
    let after: BTreeMap<_, _> = replicas(release).into_iter().map(|it| (it.name.clone(), it)).collect();
    for replica in &before {
        let condition = conditions.get_mut(&replica.name).expect("each is observed");
        match after.get(&replica.name) {
            Some(now) => {
                condition.restarts = now.restarts() - replica.restarts();
                now.last_end().clone_into(&mut condition.last_end);
            }
            None => condition.failed_probes.push("the pod is gone".to_owned()),
        }
    }
    (result, conditions)
}

impl Condition {
    /// Probes as the kubelet does, which takes a failure for one only when it repeats.
    fn probe(&mut self, mut probe: impl FnMut() -> Result<(), String>) {
        self.probes += 1;
        let failures: Vec<_> = (0..FAILURES).map_while(|_| probe().err()).collect();
        if failures.len() == FAILURES {
            self.failed_probes.extend(failures.into_iter().next());
        }
    }
}

/// All replicas of both servers.
pub fn replicas(release: &Release) -> Vec<Replica> {
    ["webhook", "controller"].into_iter().flat_map(|component| Replica::all(release, component)).collect()
}

fn observe(replica: &Replica, dialer: &Dialer, over: &AtomicBool) -> Condition {
    let mut condition = Condition { component: replica.component, ..Condition::default() };
    let get = |path: &str| match network::get(replica.admin(), path, PROBE) {
        Ok((200, _)) => Ok(()),
        Ok((status, body)) => Err(format!("{path}: {status} {body}")),
        Err(error) => Err(format!("{path}: {error}")),
    };
    // As an apiserver that has no connection yet.
    let handshake =
        || dialer.connect_from_node(replica.tls(), PROBE).map(drop).map_err(|error| format!("handshake: {error}"));
    loop {
        let last = over.load(Ordering::Relaxed);
        // A process that was restarted has another number: its peak stays at what was seen before.
        condition.peak = condition.peak.max(replica.peak().unwrap_or(0));
        condition.probe(|| get("/healthz"));
        condition.probe(|| get("/readyz"));
        if replica.component == "webhook" {
            condition.probe(handshake);
        }
        if last {
            return condition;
        }
        thread::sleep(PAUSE);
    }
}

/// Ends the observers, also when the attack has panicked.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
