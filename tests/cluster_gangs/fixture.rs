//! A webhook, a controller, a namespace with a gang mode, and jobs.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use trainmesh_core::gang::GangMode;
use trainmesh_core::gang::object::{GANG_APIS, GANG_DENIED};
use trainmesh_core::objects::FABRIC_CONFIG_MAP;
use trainmesh_core::pod::Pod;
use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::webhook::{Options, Webhook};

use crate::kinds::Kind;
use crate::scheduler::Scheduler;

/// Extended resource of which each pod requests one.
pub const CAPACITY: &str = "trainmesh.test/capacity";

/// Returns the mode of the keys of `pod`.
pub fn mode_of(pod: &Value) -> Option<GangMode> {
    GangMode::named_by_pods().find(|mode| mode.gang_named_by(Pod::new(pod)).is_some())
}

/// A webhook, its controller, and a namespace.
#[derive(Debug)]
pub struct Fixture {
    pub controller: Server,
    pub webhook: Webhook,
    pub namespace: Namespace,
    pub scheduler: Scheduler,
    /// Scheduler that the templates select; `None` if they leave that to the webhook.
    pub selected: Option<&'static str>,
    /// Jobs complete when the file of their name is in this folder, or that of their name and a completion index.
    pub completed: TempDir,
}

impl Fixture {
    /// Creates a namespace with the mode of `scheduler`, on a node with capacity for so many pods, and waits until the
    /// controller creates objects.
    pub fn new(scheduler: Scheduler, capacity: u32) -> Self {
        Self::with_labels(scheduler, capacity, &[])
    }

    /// As [`Fixture::new`], in a namespace whose pods get the test mesh's sidecar.
    pub fn in_mesh(scheduler: Scheduler, capacity: u32) -> Self {
        Cluster::get().start_mesh();
        Self::with_labels(scheduler, capacity, &[("istio-injection", "enabled")])
    }

    /// As [`Fixture::new`], in a namespace without gangs, whose pods select `scheduler`.
    pub fn without_gangs(scheduler: Scheduler, capacity: u32) -> Self {
        scheduler.start();
        let selected = scheduler.mode.scheduler_name();
        Self { selected, ..Self::start(scheduler, GangMode::None, capacity, &[]) }
    }

    /// As [`Fixture::new`], without starting `scheduler`.
    pub fn without_scheduler(scheduler: Scheduler, capacity: u32) -> Self {
        Self::start(scheduler, scheduler.mode, capacity, &[])
    }

    /// As [`Fixture::new`], in a namespace with another mode than that of Kubernetes' own scheduler.
    pub fn with_mode(mode: GangMode, capacity: u32) -> Self {
        Self::start(Scheduler::NATIVE, mode, capacity, &[])
    }

    fn with_labels(scheduler: Scheduler, capacity: u32, labels: &[(&str, &str)]) -> Self {
        scheduler.start();
        let fixture = Self::start(scheduler, scheduler.mode, capacity, labels);
        if let Some(api) = scheduler.api() {
            fixture.wait_announced(&api.api_version());
        }
        fixture
    }

    fn start(scheduler: Scheduler, mode: GangMode, capacity: u32, labels: &[(&str, &str)]) -> Self {
        set_capacity(capacity);
        let webhook = Webhook::with_options(&Options::default());
        let pins = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": FABRIC_CONFIG_MAP}});
        let _ = webhook.config_namespace.create(&pins).success();
        webhook.configure("termination: {enabled: false}\nfabric: {enabled: false}");
        let selected = [("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/gang", mode.name())];
        let namespace = webhook.namespace(&[&selected, labels].concat());
        let controller = start_controller(&webhook, &[]);
        controller.wait_for_metric("trainmesh_leader", 1);
        let completed = server::temp_folder();
        Self { controller, webhook, namespace, scheduler, selected: None, completed }
    }

    /// Waits until the controller announces on its Lease that it creates objects of this API.
    pub fn wait_announced(&self, api_version: &str) {
        Self::eventually(&format!("the controller announces {api_version}"), || {
            let text = self.announcement();
            if text.contains(api_version) { Ok(()) } else { Err(text) }
        });
        self.webhook.process.wait_for_metric("trainmesh_gang_announced", 1);
    }

    /// Waits until the controller no longer announces that it creates objects of this API.
    pub fn wait_not_announced(&self, api_version: &str) {
        Self::eventually(&format!("the controller does not announce {api_version}"), || {
            let text = self.announcement();
            if text.contains(api_version) { Err(text) } else { Ok(()) }
        });
    }

    /// Returns what the controller announces on its Lease.
    fn announcement(&self) -> String {
        let lease = self.webhook.config_namespace.get("lease", "trainmesh-controller").unwrap_or_default();
        [GANG_APIS, GANG_DENIED].map(|key| lease["metadata"]["annotations"][key].as_str().unwrap_or_default()).join(" ")
    }

    /// Kills the controller and starts another.
    pub fn replace_controller(&mut self) {
        self.replace_controller_with(&[]);
    }

    /// As [`Fixture::replace_controller`], with additional flags.
    pub fn replace_controller_with(&mut self, arguments: &[&str]) {
        self.controller.signal("KILL");
        self.controller.wait_for_exit();
        self.controller = start_controller(&self.webhook, arguments);
        self.controller.wait_for_metric("trainmesh_leader", 1);
    }

    /// Starts another controller, which does not lead while the first one does.
    pub fn start_standby(&self) -> Server {
        start_controller(&self.webhook, &[])
    }

    /// Creates indexed Jobs in one call.
    pub fn create(&self, jobs: &[Value]) {
        let _ = self.namespace.create(&list(jobs.iter().cloned())).success();
    }

    /// Creates jobs until the pods of one are as `accept` requires, and returns its name: the webhook learns a change later than the
    /// controller.
    pub fn create_until(&self, prefix: &str, accept: impl Fn(&Value) -> bool) -> String {
        let mut count = 0;
        eventually(TIMEOUT, &format!("the webhook creates the pods of {prefix}"), || {
            count += 1;
            let name = format!("{prefix}-{count}");
            self.create(&[self.job(&name, 2)]);
            let pods = self.wait_pods(&name, 2);
            if pods.iter().all(&accept) {
                return Ok(name);
            }
            let _ = self.namespace.delete("job", &name).success();
            Err(format!("modes: {:?}", pods.iter().map(mode_of).collect::<Vec<_>>()))
        })
    }

    /// Lets the pods of a job complete.
    pub fn complete(&self, job: &str) {
        fs::write(self.completed.path().join(job), "").expect("write a file");
    }

    /// Lets the pod of a Job with this index complete.
    pub fn complete_index(&self, job: &str, index: u32) {
        self.complete(&format!("{job}-{index}"));
    }

    /// Sets a label of the namespace.
    pub fn label(&self, label: &str) {
        let _ =
            Cluster::get().kubectl(&["label", "--overwrite", "namespace", &self.namespace.name, label], "").success();
    }

    /// Changes fields of a job.
    pub fn patch(&self, job: &str, patch: &Value) {
        let _ = self.namespace.kubectl(&["patch", "job", job, "--type=merge", "-p", &patch.to_string()], "").success();
    }

    /// Returns the pods of a job that have not ended and are not being deleted.
    pub fn pods(&self, job: &str) -> Vec<Value> {
        let is_alive = |pod: &Value| {
            matches!(pod["status"]["phase"].as_str(), Some("Pending" | "Running"))
                && pod["metadata"]["deletionTimestamp"].is_null()
        };
        self.namespace.pods("").into_iter().filter(|pod| Kind::owns(pod, job) && is_alive(pod)).collect()
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

    /// Waits until a Job has completed or failed.
    pub fn wait_finished(&self, job: &str) {
        Self::eventually(&format!("{job} is finished"), || {
            let status = self.namespace.get("job", job).unwrap_or_default()["status"].clone();
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let is_final = |condition: &Value| matches!(condition["type"].as_str(), Some("Complete" | "Failed"));
            if conditions.iter().any(is_final) { Ok(()) } else { Err(status.to_string()) }
        });
    }

    /// Waits until so many pods of a job run.
    pub fn wait_running(&self, job: &str, expected: usize) {
        Self::eventually(&format!("{expected} pods of {job} run"), || {
            match self.pods(job).iter().filter(|pod| pod["status"]["phase"] == "Running").count() {
                running if running == expected => Ok(()),
                running => Err(format!("{running} run")),
            }
        });
    }

    /// Waits until a job has so many pods.
    pub fn wait_pods(&self, job: &str, expected: usize) -> Vec<Value> {
        Self::eventually(&format!("{job} has {expected} pods"), || {
            let pods = self.pods(job);
            if pods.len() == expected { Ok(pods) } else { Err(format!("{} pods", pods.len())) }
        })
    }

    /// Waits until the scheduler has placed a pod outside any gang: by then it has also tried the pods before it.
    pub fn wait_scheduler_caught_up(&self) {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let name = format!("last-{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "terminationGracePeriodSeconds": 0, "schedulerName": self.scheduler.mode.scheduler_name(),
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
        let names: Vec<_> = pods.iter().map(|pod| self.scheduler.gang_named_by(pod).unwrap_or_default()).collect();
        assert!(!names.is_empty() && names.iter().all(|name| *name == names[0] && !name.is_empty()), "{names:?}");
        names[0].to_owned()
    }

    /// Returns the `PodGroup`.
    pub fn group(&self, name: &str) -> Option<Value> {
        self.namespace.get(&self.scheduler.groups(), name)
    }

    /// Waits until the `PodGroup` has this minimum.
    pub fn wait_minimum(&self, name: &str, expected: u32) {
        self.wait_group(name, &format!("has the minimum {expected}"), |group| {
            group.is_some_and(|group| self.scheduler.minimum(group) == Some(expected))
        });
    }

    /// Waits until the `PodGroup` is deleted.
    pub fn wait_deleted(&self, name: &str) {
        self.wait_group(name, "is deleted", |group| group.is_none());
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

fn start_controller(webhook: &Webhook, arguments: &[&str]) -> Server {
    let server = Server::start_supervised(server::temp_folder(), |command| {
        command.args(["controller", "--certificates", "none", "--namespace", &webhook.config_namespace.name]);
        command.args(arguments);
    });
    server.wait_until_ready();
    server
}
