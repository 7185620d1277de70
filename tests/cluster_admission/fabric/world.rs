//! A webhook with one profile, a namespace that names it, and jobs.

use serde_json::{Value, json};

use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{Applied, Namespace, PATIENCE, eventually};
use trainmesh_testing::webhook::{APPLIED, Webhook};

/// The device that the profile asks for.
pub const DEVICE: &str = "rdma/test-fabric";

/// A namespace in which pods are given fabric `own`.
#[derive(Debug)]
pub struct World {
    pub webhook: Webhook,
    pub namespace: Namespace,
}

impl World {
    /// With a profile that sets `NCCL_IB_HCA` to `hca`.
    pub fn new(hca: &str) -> Self {
        let webhook = Webhook::start();
        let keeps = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trainmesh-fabric"}});
        let _ = webhook.home.create(&keeps).success();
        let namespace = webhook.namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "own")]);
        let world = Self { webhook, namespace };
        world.profile(hca);
        world
    }

    /// Changes the profile; returns when the change is in force.
    pub fn profile(&self, hca: &str) {
        let before = self.webhook.process.metric(APPLIED).expect("the first configuration is in force");
        self.webhook.configure(&format!(
            "fabric:\n  profiles:\n  - name: own\n    transport: ib\n    env: [{{name: NCCL_IB_HCA, value: {hca}}}]\n    \
             resources: [{{name: {DEVICE}, mode: perPod}}]\n    securityContext: {{capabilities: {{add: [IPC_LOCK]}}}}"
        ));
        self.webhook.process.counts(APPLIED, before + 1);
    }

    /// A controller of the same installation; returns when it leads.
    pub fn controller(&self) -> Server {
        let server = Server::start(server::folder(), |command| {
            command.args(["controller", "--certificates", "none", "--namespace", &self.webhook.home.name]);
        });
        server.ready();
        server.counts("trainmesh_leader", 1);
        server
    }

    /// A new job: an object that owns its pods. What of is all the same to everybody.
    pub fn job(&self, name: &str) -> Job {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let _ = self.namespace.apply(&object).success();
        let uid = self.namespace.get("configmap", name).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
        Job { name: name.to_owned(), uid }
    }

    /// Creates, or creates anew, pod `name` of `job`.
    pub fn pod(&self, job: &Job, name: &str) -> Applied {
        let _ = self.namespace.kubectl(&["delete", "pod", name, "--ignore-not-found", "--wait"], "").success();
        self.namespace.create(&job.pod(name)).success()
    }

    /// The revision that pod `name` was given, and its `NCCL_IB_HCA`.
    pub fn given(&self, name: &str) -> (String, String) {
        let pod = self.namespace.get("pod", name).unwrap();
        let revision = pod["metadata"]["annotations"]["trainmesh.dev/fabric-revision"].as_str();
        let env = pod["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
        let hca = env.iter().find(|variable| variable["name"] == "NCCL_IB_HCA");
        let hca = hca.and_then(|variable| variable["value"].as_str());
        (revision.unwrap_or_default().to_owned(), hca.unwrap_or_default().to_owned())
    }

    /// Waits until the controller has noted what pods of `job` carry.
    pub fn noted(&self, job: &Job) {
        eventually(PATIENCE, "the gang is noted", || {
            let kept = self.webhook.home.get("configmap", "trainmesh-fabric").unwrap();
            let text = kept["data"]["pins.json"].as_str().unwrap_or_default();
            if text.contains(&job.uid) { Ok(()) } else { Err(text.to_owned()) }
        });
    }
}

/// An owner of pods.
#[derive(Debug)]
pub struct Job {
    name: String,
    pub uid: String,
}

impl Job {
    fn pod(&self, name: &str) -> Value {
        let labels = json!({"training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/job-name": self.name, "training.kubeflow.org/replica-type": "worker"});
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.uid,
            "controller": true});
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "pytorch",
                "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never", "command": ["sleep", "1h"],
                "resources": {"limits": {"nvidia.com/gpu": 1}}}]}})
    }
}
