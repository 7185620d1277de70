//! A webhook, a controller, a namespace with a gang mode, and jobs.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::webhook::{Options, Webhook};

/// Extended resource of which each pod requests one.
const CAPACITY: &str = "trainmesh.test/capacity";

/// A webhook, its controller, and a namespace.
#[derive(Debug)]
pub struct Fixture {
    pub controller: Server,
    pub webhook: Webhook,
    pub namespace: Namespace,
    /// Jobs complete when the file of their name is in this folder.
    completed: TempDir,
}

impl Fixture {
    /// Creates a namespace with this gang mode, on a node with capacity for so many pods, and waits until the webhook reads that
    /// the controller creates objects.
    pub fn new(mode: &str, capacity: u32) -> Self {
        set_capacity(capacity);
        let webhook = Webhook::with_options(&Options::default());
        webhook.configure("termination: {enabled: false}\nfabric: {enabled: false}");
        let labels = [("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/gang", mode)];
        let namespace = webhook.namespace(&labels);
        let controller = start_controller(&webhook);
        if mode != "none" {
            webhook.process.wait_for_metric("trainmesh_gang_announced", 1);
        }
        Self { controller, webhook, namespace, completed: server::temp_folder() }
    }

    /// Kills the controller and starts another.
    pub fn replace_controller(&mut self) {
        self.controller.signal("KILL");
        self.controller.wait_for_exit();
        self.controller = start_controller(&self.webhook);
    }

    /// Creates indexed Jobs in one call.
    pub fn create(&self, jobs: &[Value]) {
        let _ = self.namespace.create(&list(jobs.iter().cloned())).success();
    }

    /// Returns an indexed Job.
    pub fn job(&self, name: &str, pods: u32) -> Value {
        self.job_with_exit_code(name, pods, 0)
    }

    /// Returns an indexed Job whose pods exit with this code.
    pub fn job_with_exit_code(&self, name: &str, pods: u32, code: u8) -> Value {
        let script = format!("until [ -e /completed/{name} ]; do sleep 0.1; done; exit {code}");
        let container = json!({
            "name": "train", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", script], "resources": {"limits": {CAPACITY: 1}},
            "volumeMounts": [{"name": "completed", "mountPath": "/completed"}],
        });
        let path = self.completed.path().to_str().expect("the path is UTF-8");
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
            "completionMode": "Indexed", "completions": pods, "parallelism": pods,
            // The first exit code other than 0 fails the job, but a deleted pod is replaced.
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]},
            "template": {"spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container],
                "volumes": [{"name": "completed", "hostPath": {"path": path, "type": "Directory"}}],
            }},
        }})
    }

    /// Returns a `PyTorchJob` with a Master and Workers.
    pub fn pytorch_job(&self, name: &str, pods: u32) -> Value {
        let mut template = self.job(name, pods)["spec"]["template"].take();
        template["spec"]["containers"][0]["name"] = "pytorch".into();
        json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "restartPolicy": "Never", "template": template},
                "Worker": {"replicas": pods - 1, "restartPolicy": "Never", "template": template},
            },
        }})
    }

    /// Lets the pods of a job complete.
    pub fn complete(&self, job: &str) {
        fs::write(self.completed.path().join(job), "").expect("write a file");
    }

    /// Changes fields of a job.
    pub fn patch(&self, job: &str, patch: &Value) {
        let _ = self.namespace.kubectl(&["patch", "job", job, "--type=merge", "-p", &patch.to_string()], "").success();
    }

    /// Returns the pods of a job that have not ended and are not being deleted.
    pub fn pods(&self, job: &str) -> Vec<Value> {
        let keys = ["batch.kubernetes.io/job-name", "training.kubeflow.org/job-name"];
        let pods = keys.into_iter().flat_map(|key| self.namespace.pods(&format!("{key}={job}")));
        let is_alive = |pod: &Value| {
            matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Running"))
                && pod["metadata"]["deletionTimestamp"].is_null()
        };
        pods.filter(is_alive).collect()
    }

    /// Returns the number of placed pods of a job.
    pub fn placed(&self, job: &str) -> usize {
        self.pods(job).iter().filter(|pod| pod["spec"]["nodeName"].is_string()).count()
    }

    /// Waits until a job has so many placed pods.
    pub fn wait_placed(&self, job: &str, expected: usize) {
        Self::eventually(&format!("{expected} pods of {job} are placed"), || match self.placed(job) {
            placed if placed == expected => Ok(()),
            placed => Err(format!("{placed} are placed")),
        });
    }

    /// Waits until a job has so many pods.
    pub fn wait_pods(&self, job: &str, expected: usize) -> Vec<Value> {
        Self::eventually(&format!("{job} has {expected} pods"), || {
            let pods = self.pods(job);
            if pods.len() == expected { Ok(pods) } else { Err(format!("{} pods", pods.len())) }
        })
    }

    /// Waits until a pod outside any gang is placed: by then the scheduler has also tried the pods before it.
    pub fn wait_scheduler_caught_up(&self) {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let name = format!("last-{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "a", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never", "command": ["true"]}],
        }});
        let _ = self.namespace.create(&pod).success();
        Self::eventually("the last pod is placed", || {
            let pod = self.namespace.get("pod", &name).unwrap_or_default();
            if pod["spec"]["nodeName"].is_string() { Ok(()) } else { Err(pod["status"].to_string()) }
        });
    }

    /// Returns the `PodGroup` that a job's pods name, once all have the same.
    pub fn group_name(&self, job: &str) -> String {
        let pods = self.pods(job);
        let names: Vec<_> = pods
            .iter()
            .map(|pod| pod["spec"]["schedulingGroup"]["podGroupName"].as_str().unwrap_or_default())
            .collect();
        assert!(!names.is_empty() && names.iter().all(|name| *name == names[0] && !name.is_empty()), "{names:?}");
        names[0].to_owned()
    }

    /// Returns the `PodGroup`.
    pub fn group(&self, name: &str) -> Option<Value> {
        self.namespace.get("podgroup", name)
    }

    /// Waits until the `PodGroup` is as `accept` requires.
    pub fn wait_group(&self, name: &str, what: &str, accept: impl Fn(Option<&Value>) -> bool) {
        Self::eventually(&format!("PodGroup {name} {what}"), || {
            let group = self.group(name);
            if accept(group.as_ref()) { Ok(()) } else { Err(format!("{group:?}")) }
        });
    }

    fn eventually<T>(what: &str, probe: impl FnMut() -> Result<T, String>) -> T {
        eventually(TIMEOUT, what, probe)
    }
}

/// Limits the number of pods of all jobs that run at a time.
pub fn set_capacity(capacity: u32) {
    let nodes = Cluster::get().kubectl(&["get", "nodes", "-o", "name"], "").success().stdout;
    let node = nodes.lines().next().expect("a node");
    let amounts = json!({CAPACITY: capacity.to_string()});
    let patch = json!({"status": {"capacity": amounts, "allocatable": amounts}}).to_string();
    let _ =
        Cluster::get().kubectl(&["patch", node, "--subresource=status", "--type=merge", "-p", &patch], "").success();
}

fn start_controller(webhook: &Webhook) -> Server {
    let server = Server::start(server::temp_folder(), |command| {
        command.args(["controller", "--certificates", "none", "--namespace", &webhook.config_namespace.name]);
    });
    server.wait_until_ready();
    server.wait_for_metric("trainmesh_leader", 1);
    server
}
