//! Failures to plant. Each has a namespace of its own, and returns when it has happened.

use serde_json::json;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};

use crate::dump::FirstFinding;
use crate::job::{JOB, MASTER, RUNS, Role, TrainingJob, WORKER, wait_for_running, wait_for_status};

/// A failure.
pub struct Fault {
    /// Description.
    pub name: &'static str,
    /// Plants it.
    pub plant: fn() -> Namespace,
    /// The finding that must be the first.
    id: &'static str,
    /// Answer of the column RECOVERS, by the table in docs/diagnose.md.
    recovers: &'static str,
}

impl Fault {
    const fn new(name: &'static str, plant: fn() -> Namespace, id: &'static str, recovers: &'static str) -> Self {
        Self { name, plant, id, recovers }
    }

    pub fn expected(&self) -> FirstFinding {
        FirstFinding::new(self.id, self.recovers)
    }
}

/// All failures.
pub const FAULTS: [Fault; 20] = [
    Fault::new("image that cannot be pulled on one rank", image, "ImagePullFails", "no"),
    Fault::new("ConfigMap that does not exist", config_map, "ContainerNotCreated", "no"),
    Fault::new("rank that crashes again and again", crash, "CrashLoop", "unknown"),
    Fault::new("rank that exceeds its memory", memory, "OutOfMemory", "no"),
    Fault::new("rank that fails for good", failure, "RankFailed", "no"),
    Fault::new("a node for a part of the gang", part_of_gang, "GangPartlyScheduled", "unknown"),
    Fault::new("no node for any pod", no_node, "PodsUnschedulable", "unknown"),
    Fault::new("node name that does not exist", pinned, "PinnedNodeMissing", "no"),
    Fault::new("device that no node offers", device, "DeviceOnNoNode", "unknown"),
    Fault::new("quota for one of two pods", quota, "PodCreationFails", "unknown"),
    Fault::new("pod with a finalizer that nobody removes", finalizer, "PodStuckTerminating", "unknown"),
    Fault::new("suspended job", suspended, "JobSuspended", "no"),
    Fault::new("main container ended, and no controller", main_ended, "SidecarOutlivesMain", "no"),
    Fault::new("proxy ended before the main container", proxy_ended, "ProxyEndedEarly", "no"),
    Fault::new("traffic of the ranks behind Envoy", captured, "TrafficCaptured", "no"),
    Fault::new("wrong MASTER_PORT", port, "SettingsDiffer", "no"),
    Fault::new("two ranks with one number", same_rank, "RanksCollide", "no"),
    Fault::new("broken selector of the Service", selector, "ServiceMissesMaster", "no"),
    Fault::new("master killed behind its worker", master_killed, "MasterRestarted", "unknown"),
    Fault::new("worker killed alone", worker_killed, "WorkerRestarted", "unknown"),
];

/// Runs for 35 seconds, fails, and then runs: the first run joins the process group.
const FAILS_ONCE: &str = "[ -e /state/failed ] && exec sleep 1h; touch /state/failed; sleep 35; exit 1";

/// Creates a namespace. The training-operator runs.
pub fn namespace(labels: &[(&str, &str)]) -> Namespace {
    let cluster = Cluster::get();
    cluster.start_operator("training-operator");
    cluster.namespace(labels)
}

/// Creates a namespace of the mesh.
fn mesh() -> Namespace {
    Cluster::get().start_mesh();
    namespace(&[("istio-injection", "enabled")])
}

fn create(job: &TrainingJob) -> Namespace {
    let namespace = namespace(&[]);
    job.create(&namespace);
    namespace
}

fn image() -> Namespace {
    let namespace = create(&TrainingJob::new().container(Role::Worker, "image", "trainmesh.test/missing:1".into()));
    wait_for_waiting(&namespace, WORKER, "ErrImageNeverPull");
    namespace
}

fn config_map() -> Namespace {
    let missing = json!([{"configMapRef": {"name": "missing"}}]);
    let namespace = create(&TrainingJob::new().container(Role::Worker, "envFrom", missing));
    wait_for_waiting(&namespace, WORKER, "CreateContainerConfigError");
    namespace
}

fn crash() -> Namespace {
    let namespace = create(&TrainingJob::new().script(Role::Worker, "exit 1"));
    wait_for_waiting(&namespace, WORKER, "CrashLoopBackOff");
    namespace
}

fn memory() -> Namespace {
    let limit = json!({"limits": {"memory": "16Mi"}});
    let job = TrainingJob::new().container(Role::Worker, "resources", limit);
    // containerd misses the event of a container that the kernel kills as it starts: its reason is then Error.
    let script = "until [ -e /allocate ]; do sleep 0.1; done; exec tail /dev/zero";
    let namespace = create(&job.script(Role::Worker, script).restart_policy(Role::Worker, "Never"));
    wait_for_status(&namespace, WORKER, "running", |status| status["state"]["running"].is_object());
    let _ = namespace.kubectl(&["exec", WORKER, "-c", "pytorch", "--", "touch", "/allocate"], "").success();
    wait_for_status(&namespace, WORKER, "out of memory", |status| {
        status["state"]["terminated"]["reason"] == "OOMKilled"
    });
    namespace
}

fn failure() -> Namespace {
    let job = TrainingJob::new().script(Role::Worker, "exit 3").restart_policy(Role::Worker, "Never");
    let namespace = create(&job.run_policy("cleanPodPolicy", "None".into()));
    wait_for_status(&namespace, WORKER, "failed", |status| status["state"]["terminated"]["exitCode"] == 3);
    namespace
}

fn part_of_gang() -> Namespace {
    let namespace = create(&TrainingJob::new().pod(Role::Worker, "nodeSelector", json!({"pool": "missing"})));
    wait_for_unscheduled(&namespace, 1);
    namespace
}

fn no_node() -> Namespace {
    let on_missing = |job: TrainingJob, role| job.pod(role, "nodeSelector", json!({"pool": "missing"}));
    let namespace = create(&Role::BOTH.into_iter().fold(TrainingJob::new(), on_missing));
    wait_for_unscheduled(&namespace, 2);
    namespace
}

fn pinned() -> Namespace {
    let selector = json!({"kubernetes.io/hostname": "removed"});
    let namespace = create(&TrainingJob::new().pod(Role::Worker, "nodeSelector", selector));
    wait_for_unscheduled(&namespace, 1);
    namespace
}

fn device() -> Namespace {
    let limit = json!({"limits": {"rdma/missing": 1}});
    let namespace = create(&TrainingJob::new().container(Role::Worker, "resources", limit));
    wait_for_unscheduled(&namespace, 1);
    namespace
}

fn quota() -> Namespace {
    let namespace = namespace(&[]);
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"}, "spec": {"hard": {"pods": "1"}}});
    let _ = namespace.create(&quota).success();
    eventually(TIMEOUT, "the quota is in effect", || {
        let found = namespace.get("resourcequota", "pods").ok_or("it does not exist")?;
        if found["status"]["hard"]["pods"] == "1" { Ok(()) } else { Err("not yet") }
    });
    TrainingJob::new().create(&namespace);
    wait_for_event(&namespace, "FailedCreatePod");
    namespace
}

fn finalizer() -> Namespace {
    let namespace = create(&TrainingJob::new().finalizer(Role::Worker, "example.com/hold"));
    wait_for_running(&namespace, 2);
    let _ = namespace.delete("pod", WORKER).success();
    namespace
}

fn suspended() -> Namespace {
    let namespace = create(&TrainingJob::new().run_policy("suspend", true.into()));
    eventually(TIMEOUT, "the job is suspended", || {
        let found = namespace.get("pytorchjob", JOB).ok_or("it does not exist")?;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|condition| condition["type"] == "Suspended") { Ok(()) } else { Err("not yet") }
    });
    namespace
}

fn main_ended() -> Namespace {
    let namespace = mesh();
    TrainingJob::new().alone().script(Role::Master, "true").create(&namespace);
    wait_for_status(&namespace, MASTER, "ended", |status| status["state"]["terminated"]["exitCode"] == 0);
    namespace
}

fn proxy_ended() -> Namespace {
    let namespace = mesh();
    TrainingJob::new().alone().restart_policy(Role::Master, "Never").create(&namespace);
    wait_for_running(&namespace, 1);
    eventually(TIMEOUT, "the proxy exits", || {
        let quit = ["exec", MASTER, "-c", "istio-proxy", "--", "pilot-agent", "request", "POST", "quitquitquit"];
        let output = namespace.kubectl(&quit, "");
        // The command may end with the container: only the state of the container matters.
        let pod = namespace.get("pod", MASTER).ok_or("no pod")?;
        let mut statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let terminated =
            statuses.any(|status| status["name"] == "istio-proxy" && status["state"]["terminated"].is_object());
        if terminated { Ok(()) } else { Err(output.stderr) }
    });
    namespace
}

fn captured() -> Namespace {
    let namespace = mesh();
    TrainingJob::new().create(&namespace);
    wait_for_running(&namespace, 2);
    namespace
}

fn port() -> Namespace {
    let namespace = create(&TrainingJob::new().script(Role::Worker, &format!("MASTER_PORT=9999 {RUNS}")));
    wait_for_running(&namespace, 2);
    namespace
}

fn same_rank() -> Namespace {
    let namespace = create(&TrainingJob::new().script(Role::Worker, &format!("RANK=0 {RUNS}")));
    wait_for_running(&namespace, 2);
    namespace
}

fn selector() -> Namespace {
    let namespace = create(&TrainingJob::new());
    wait_for_running(&namespace, 2);
    let patch = json!({"spec": {"selector": {"training.kubeflow.org/replica-type": "chief"}}}).to_string();
    let _ = namespace.kubectl(&["patch", "service", MASTER, "--type=merge", "-p", &patch], "").success();
    namespace
}

fn master_killed() -> Namespace {
    killed(Role::Master, MASTER)
}

fn worker_killed() -> Namespace {
    killed(Role::Worker, WORKER)
}

/// The container of one rank restarts after it has joined the process group.
fn killed(role: Role, pod: &str) -> Namespace {
    let job =
        TrainingJob::new().script(role, FAILS_ONCE).pod(role, "volumes", json!([{"name": "state", "emptyDir": {}}]));
    let namespace = create(&job.container(role, "volumeMounts", json!([{"name": "state", "mountPath": "/state"}])));
    wait_for_status(&namespace, pod, "restarted", |status| {
        status["restartCount"] == 1 && status["state"]["running"].is_object()
    });
    wait_for_running(&namespace, 2);
    namespace
}

fn wait_for_waiting(namespace: &Namespace, pod: &str, reason: &str) {
    wait_for_status(namespace, pod, reason, |status| status["state"]["waiting"]["reason"] == reason);
}

fn wait_for_unscheduled(namespace: &Namespace, count: usize) {
    eventually(TIMEOUT, &format!("{count} pods have no node"), || {
        let pods = namespace.pods("");
        let is_unscheduled = |pod: &&serde_json::Value| {
            let conditions = pod["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|condition| condition["reason"] == "Unschedulable")
        };
        let found = pods.iter().filter(is_unscheduled).count();
        if found == count && pods.len() == 2 { Ok(()) } else { Err(format!("{found} of {}", pods.len())) }
    });
}

fn wait_for_event(namespace: &Namespace, reason: &str) {
    eventually(TIMEOUT, reason, || {
        let events = namespace.events();
        if events.iter().any(|event| event["reason"] == reason) { Ok(()) } else { Err(events.len()) }
    });
}
