//! `PyTorchJobs` of a master and a worker that run shell scripts, or torchrun.

use std::time::Duration;

use serde_json::{Value, json};
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::torch;

/// Name of every job.
pub const JOB: &str = "llama";
/// Name of the master's pod and Service.
pub const MASTER: &str = "llama-master-0";
/// Name of the worker's pod.
pub const WORKER: &str = "llama-worker-0";
/// Deadline for a line of a rank: with others on two cores, `import torch` can take minutes.
const RANK_TIMEOUT: Duration = Duration::from_mins(6);
/// A rank that runs.
pub const RUNS: &str = "sleep 1h";

/// A `PyTorchJob`.
#[derive(Clone, Debug)]
pub struct TrainingJob(Value);

/// A role of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Master,
    Worker,
}

impl Role {
    pub const BOTH: [Self; 2] = [Self::Master, Self::Worker];

    fn key(self) -> &'static str {
        match self {
            Self::Master => "Master",
            Self::Worker => "Worker",
        }
    }
}

impl TrainingJob {
    /// Returns a job whose ranks run, and whose failed containers are restarted.
    pub fn new() -> Self {
        let role = json!({"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pytorch", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
                "command": ["sh", "-c", RUNS]}]}}});
        Self(json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": JOB},
            "spec": {"pytorchReplicaSpecs": {"Master": role, "Worker": role}}}))
    }

    /// Removes the worker.
    pub fn alone(mut self) -> Self {
        self.0["spec"]["pytorchReplicaSpecs"].as_object_mut().expect("roles").remove(Role::Worker.key());
        self
    }

    pub fn script(self, role: Role, script: &str) -> Self {
        self.container(role, "command", json!(["sh", "-c", script]))
    }

    /// Sets a field of the main container.
    pub fn container(mut self, role: Role, field: &str, value: Value) -> Self {
        self.role(role)["template"]["spec"]["containers"][0][field] = value;
        self
    }

    /// Sets a field of the pod's spec.
    pub fn pod(mut self, role: Role, field: &str, value: Value) -> Self {
        self.role(role)["template"]["spec"][field] = value;
        self
    }

    /// Lets all roles run `program` in Python with one process of torchrun each, which has these flags.
    pub fn torchrun(self, flags: &[&str], program: &str) -> Self {
        // Torch 1.13 fails on Python 3.11 without redirections.
        let redirections = ["--redirects", "1", "--tee", "1", "--log_dir", "/tmp/log"];
        let torchrun = [torch::PYTHON, "-m", "torch.distributed.run", "--nproc_per_node", "1"];
        let program = ["--no_python", torch::PYTHON, "-c", program];
        let command = [&torchrun[..], &redirections, flags, &program].concat();
        let packages = Cluster::get().torch();
        Role::BOTH.into_iter().fold(self, |job, role| {
            let mut job =
                job.container(role, "command", json!(command)).pod(role, "volumes", torch::volumes(&packages));
            torch::add_torch(&mut job.role(role)["template"]["spec"]["containers"][0]);
            job
        })
    }

    /// Sets finalizers of the pods.
    pub fn finalizer(mut self, role: Role, finalizer: &str) -> Self {
        self.role(role)["template"]["metadata"] = json!({"finalizers": [finalizer]});
        self
    }

    pub fn restart_policy(mut self, role: Role, policy: &str) -> Self {
        self.role(role)["restartPolicy"] = policy.into();
        self
    }

    /// Sets a field of `spec.runPolicy`.
    pub fn run_policy(mut self, field: &str, value: Value) -> Self {
        self.0["spec"]["runPolicy"][field] = value;
        self
    }

    pub fn create(&self, namespace: &Namespace) {
        let _ = namespace.create(&self.0).success();
    }

    fn role(&mut self, role: Role) -> &mut Value {
        &mut self.0["spec"]["pytorchReplicaSpecs"][role.key()]
    }
}

/// Waits until `count` main containers run.
pub fn wait_for_running(namespace: &Namespace, count: usize) {
    eventually(TIMEOUT, &format!("{count} ranks run"), || {
        let pods = namespace.pods("");
        let running = pods.iter().filter(|pod| status(pod)["state"]["running"].is_object()).count();
        if running == count { Ok(()) } else { Err(format!("{running} of {}", pods.len())) }
    });
}

/// Waits until the log of the current container of a pod contains `text`.
pub fn wait_for_log(namespace: &Namespace, pod: &str, text: &str) {
    eventually(RANK_TIMEOUT, &format!("{pod} logs {text}"), || {
        let log = namespace.kubectl(&["logs", pod, "--tail=50"], "").stdout;
        if log.contains(text) { Ok(()) } else { Err(log) }
    });
}

/// Runs `program` in Python in a pod.
pub fn run_python(namespace: &Namespace, pod: &str, program: &str) {
    let _ = namespace.kubectl(&["exec", pod, "--", torch::PYTHON, "-c", program], "").success();
}

/// Waits until the status of the main container of a pod satisfies `condition`.
pub fn wait_for_status(namespace: &Namespace, pod: &str, what: &str, condition: impl Fn(&Value) -> bool) {
    eventually(TIMEOUT, &format!("{pod}: {what}"), || {
        let found = namespace.get("pod", pod).ok_or("it does not exist")?;
        if condition(status(&found)) { Ok(()) } else { Err(found["status"].to_string()) }
    });
}

/// Returns the status of the main container.
fn status(pod: &Value) -> &Value {
    let statuses = pod["status"]["containerStatuses"].as_array();
    statuses.into_iter().flatten().find(|status| status["name"] == "pytorch").unwrap_or(&Value::Null)
}
