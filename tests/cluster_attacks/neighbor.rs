//! The neighbor, a namespace that must not be affected: pods are created all the time, and jobs run one after another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, creates_pod, eventually};
use trainmesh_testing::controller::observed::{ObservedPod, PROXY};
use trainmesh_testing::load::{under_load, wait_for_new_pods};
use trainmesh_testing::pods::{OPTED_IN, adds_hold};
use trainmesh_testing::webhook::call::failed_open;

/// Polling interval of a job.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Name of a job's main container.
const MAIN: &str = "train";

/// A namespace with a steady load.
#[derive(Debug)]
pub struct Neighbor {
    pub namespace: Namespace,
    /// Number of jobs created.
    jobs: AtomicUsize,
}

/// Results of the neighbor's pods and jobs.
#[derive(Debug, Default)]
pub struct NeighborReport {
    /// Creation time of each pod.
    pub took: Vec<Duration>,
    /// Errors of failed creations.
    pub failed: Vec<String>,
    /// Pods without a patch, and pods for which a call of the webhook failed.
    pub missed: Vec<String>,
    /// For each job, the time from the exit of its main container to that of its proxy.
    pub delays: Vec<SignedDuration>,
    /// State of a job that did not complete; no job runs after it.
    pub incomplete: Option<String>,
}

impl Neighbor {
    pub fn new() -> Self {
        // A ready replica is called once kube-proxy routes to it. Earlier calls may fail and must not count against the
        // attack.
        let first = Cluster::get().namespace(&OPTED_IN);
        eventually(TIMEOUT, "the webhook is called", || if adds_hold(&first) { Ok(()) } else { Err("not called") });
        Self { namespace: Cluster::get().namespace(&OPTED_IN), jobs: AtomicUsize::new(0) }
    }

    /// Creates pods and runs jobs during `attack`, and at least one of each before and after it.
    pub fn during(&self, attack: impl FnOnce()) -> NeighborReport {
        let over = AtomicBool::new(false);
        let (load, (delays, incomplete)) = thread::scope(|scope| {
            let jobs = scope.spawn(|| self.jobs(&over));
            let load = under_load(&self.namespace, || {
                let _stop = StopOnDrop(&over);
                wait_for_new_pods(&self.namespace);
                attack();
                wait_for_new_pods(&self.namespace);
            });
            (load, jobs.join().unwrap())
        });
        let mut missed = self.pods_without_patch(load.created.len());
        missed.extend(self.failed_calls());
        NeighborReport { took: load.durations, failed: load.failed, missed, delays, incomplete }
    }

    /// Runs a job to completion, which means that the controller has processed all earlier events.
    pub fn run_job(&self) {
        self.job().unwrap();
    }

    /// Runs jobs one after another, at least one, until `over` is set or one does not complete.
    fn jobs(&self, over: &AtomicBool) -> (Vec<SignedDuration>, Option<String>) {
        let mut delays = Vec::new();
        while delays.is_empty() || !over.load(Ordering::Relaxed) {
            match self.job() {
                Ok(delay) => delays.push(delay),
                Err(state) => return (delays, Some(state)),
            }
        }
        (delays, None)
    }

    /// Runs a job; `Err` is the state of a job that did not complete.
    fn job(&self) -> Result<SignedDuration, String> {
        let name = format!("job-{}", self.jobs.fetch_add(1, Ordering::Relaxed));
        let container = json!({"name": MAIN, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["wget", "-qO-", "http://127.0.0.1:15021/healthz/ready"]});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
            "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}});
        let _ = self.namespace.create(&job).success();
        let end = Instant::now() + TIMEOUT;
        loop {
            let pods =
                self.namespace.pods(&format!("job-name={name}")).into_iter().map(ObservedPod).collect::<Vec<_>>();
            let state = pods.iter().map(ToString::to_string).collect::<String>();
            match &pods[..] {
                [pod] if pod.phase() == "Succeeded" => {
                    return pod
                        .proxy_delay(&[MAIN])
                        .ok_or_else(|| format!("{PROXY} did not run next to {MAIN}: {state}"));
                }
                _ if Instant::now() > end => return Err(state),
                _ => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn pods_without_patch(&self, created: usize) -> Vec<String> {
        let pods = self.namespace.pods("");
        let all = pods.len() >= created;
        assert!(all, "{} of {created} pods are left", pods.len());
        pods.iter().filter(|pod| !is_patched(pod)).map(|pod| name(&pod["metadata"]["name"])).collect()
    }

    /// Returns failed calls of the webhook; the second round may have patched a pod that the first one missed.
    fn failed_calls(&self) -> Vec<String> {
        let requests = self.namespace.audit(|event| {
            creates_pod(event) && failed_open(event).iter().any(|webhook| webhook.ends_with("trainmesh.dev"))
        });
        requests.iter().map(|event| format!("call about {}", name(&event["objectRef"]["name"]))).collect()
    }
}

/// Stops the jobs when dropped, even if the attack panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns true if the webhook has added the hold.
fn is_patched(pod: &Value) -> bool {
    let applied = pod["metadata"]["annotations"]["trainmesh.dev/applied"].as_str().unwrap_or_default();
    applied.split(',').any(|rule| rule == "mesh.hold")
}

fn name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
