//! The namespace that must not notice: pods that are created all the while, and jobs that complete one after another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, creates_pod, eventually};
use trainmesh_testing::controller::seen::{PROXY, Seen};
use trainmesh_testing::load::{goes_on, under_load};
use trainmesh_testing::pods::{SERVED, patched};
use trainmesh_testing::webhook::call::failed_open;

/// Between two looks at a job.
const PAUSE: Duration = Duration::from_millis(200);
/// The main container of a job.
const MAIN: &str = "train";

/// The namespace.
#[derive(Debug)]
pub struct Neighbor {
    pub namespace: Namespace,
    /// Jobs that were created.
    jobs: AtomicUsize,
}

/// What its pods experienced.
#[derive(Debug, Default)]
pub struct Experience {
    /// How long the creation of each pod took.
    pub took: Vec<Duration>,
    /// Errors of pods that could not be created.
    pub failed: Vec<String>,
    /// Pods without the patch, and pods about which a call of ours failed.
    pub missed: Vec<String>,
    /// For each job, from the exit of its main container to that of its proxy.
    pub delays: Vec<SignedDuration>,
    /// The job that did not complete, after which there were no more.
    pub incomplete: Option<String>,
}

impl Neighbor {
    pub fn new() -> Self {
        // A replica that is ready is called once kube-proxy knows it. Calls before that are not the neighbor's, whose
        // failed calls count.
        let first = Cluster::get().namespace(&SERVED);
        eventually(PATIENCE, "the webhook is called", || if patched(&first) { Ok(()) } else { Err("it is not") });
        Self { namespace: Cluster::get().namespace(&SERVED), jobs: AtomicUsize::new(0) }
    }

    /// Creates pods and runs jobs during `attack`; some of both come before it and after it.
    pub fn during(&self, attack: impl FnOnce()) -> Experience {
        let over = AtomicBool::new(false);
        let (load, (delays, incomplete)) = thread::scope(|scope| {
            let jobs = scope.spawn(|| self.jobs(&over));
            let load = under_load(&self.namespace, || {
                let _end = End(&over);
                goes_on(&self.namespace);
                attack();
                goes_on(&self.namespace);
            });
            (load, jobs.join().unwrap())
        });
        let mut missed = self.unpatched(load.created.len());
        missed.extend(self.failed_calls());
        Experience { took: load.took, failed: load.failed, missed, delays, incomplete }
    }

    /// Runs a job to its completion: whatever came before it has been processed by the controller.
    pub fn job_completes(&self) {
        self.job().unwrap();
    }

    /// Runs jobs one after another, at least one, until one does not complete.
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

    /// Runs a job; `Err` is the state of one that does not complete.
    fn job(&self) -> Result<SignedDuration, String> {
        let name = format!("job-{}", self.jobs.fetch_add(1, Ordering::Relaxed));
        let container = json!({"name": MAIN, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["wget", "-qO-", "http://127.0.0.1:15021/healthz/ready"]});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
            "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}});
        let _ = self.namespace.create(&job).success();
        let end = Instant::now() + PATIENCE;
        loop {
            let pods = self.namespace.pods(&format!("job-name={name}")).into_iter().map(Seen).collect::<Vec<_>>();
            let state = pods.iter().map(ToString::to_string).collect::<String>();
            match &pods[..] {
                [pod] if pod.phase() == "Succeeded" => {
                    return pod.delay(&[MAIN]).ok_or_else(|| format!("{PROXY} has not run beside {MAIN}: {state}"));
                }
                _ if Instant::now() > end => return Err(state),
                _ => thread::sleep(PAUSE),
            }
        }
    }

    fn unpatched(&self, created: usize) -> Vec<String> {
        let pods = self.namespace.pods("");
        let all = pods.len() >= created;
        assert!(all, "{} of {created} pods are left", pods.len());
        pods.iter().filter(|pod| !is_patched(pod)).map(|pod| name(&pod["metadata"]["name"])).collect()
    }

    /// The calls that the apiserver gave up: the second round may have patched what the first one missed.
    fn failed_calls(&self) -> Vec<String> {
        let requests = self.namespace.audit(|event| {
            creates_pod(event) && failed_open(event).iter().any(|webhook| webhook.ends_with("trainmesh.dev"))
        });
        requests.iter().map(|event| format!("call about {}", name(&event["objectRef"]["name"]))).collect()
    }
}

/// Ends the jobs, also when the attack has panicked.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whether trainmesh asked for the hold, among other things.
fn is_patched(pod: &Value) -> bool {
    let applied = pod["metadata"]["annotations"]["trainmesh.dev/applied"].as_str().unwrap_or_default();
    applied.split(',').any(|rule| rule == "mesh.hold")
}

fn name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
