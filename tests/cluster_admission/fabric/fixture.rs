//! A webhook with one fabric profile, a namespace that selects it, and jobs.

use serde_json::{Value, json};

use trainmesh_testing::cluster::server::{self, Server};
use trainmesh_testing::cluster::{KubectlOutput, Namespace, TIMEOUT, eventually};
use trainmesh_testing::webhook::{APPLIED, Webhook};

/// Device that the profile requests.
pub const DEVICE: &str = "rdma/test-fabric";

/// A webhook, and a namespace whose pods get the fabric profile `own`.
#[derive(Debug)]
pub struct Fixture {
    pub webhook: Webhook,
    pub namespace: Namespace,
}

impl Fixture {
    /// Creates a fixture whose profile sets `NCCL_IB_HCA` to `hca`.
    pub fn new(hca: &str) -> Self {
        let webhook = Webhook::start();
        let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trainmesh-fabric"}});
        let _ = webhook.config_namespace.create(&config_map).success();
        let namespace = webhook.namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "own")]);
        let fixture = Self { webhook, namespace };
        fixture.set_profile(hca);
        fixture
    }

    /// Changes the profile, and waits until the change is active.
    pub fn set_profile(&self, hca: &str) {
        let before = self.webhook.process.metric(APPLIED).expect("the first configuration is active");
        self.webhook.configure(&format!(
            "fabric:\n  profiles:\n  - name: own\n    transport: ib\n    env: [{{name: NCCL_IB_HCA, value: {hca}}}]\n    \
             resources: [{{name: {DEVICE}, mode: perPod}}]\n    securityContext: {{capabilities: {{add: [IPC_LOCK]}}}}"
        ));
        self.webhook.process.wait_for_metric(APPLIED, before + 1);
    }

    /// Starts a controller of the same installation, and waits until it leads.
    pub fn controller(&self) -> Server {
        let server = Server::start_supervised(server::temp_folder(), |command| {
            command.args(["controller", "--certificates", "none", "--namespace", &self.webhook.config_namespace.name]);
        });
        server.wait_until_ready();
        server.wait_for_metric("trainmesh_leader", 1);
        server
    }

    /// Creates a job: an object that owns pods. Its kind does not matter.
    pub fn job(&self, name: &str) -> Job {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let _ = self.namespace.apply(&object).success();
        let uid = self.namespace.get("configmap", name).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
        Job { name: name.to_owned(), uid }
    }

    /// Creates or recreates pod `name` of `job`.
    pub fn pod(&self, job: &Job, name: &str) -> KubectlOutput {
        self.try_pod(job, name).success()
    }

    /// As [`Fixture::pod`], for a pod that may be rejected.
    pub fn try_pod(&self, job: &Job, name: &str) -> KubectlOutput {
        let _ = self.namespace.kubectl(&["delete", "pod", name, "--ignore-not-found", "--wait"], "").success();
        self.namespace.create(&job.pod(name))
    }

    /// Returns the revision of pod `name` and its `NCCL_IB_HCA`.
    pub fn applied(&self, name: &str) -> (String, String) {
        Self::fabric_of(&self.namespace.get("pod", name).unwrap())
    }

    /// Waits until a pod of `job` would have this revision and `NCCL_IB_HCA`: the webhook reads the revisions of jobs from a watch.
    pub fn wait_would_apply(&self, job: &Job, expected: &(String, String)) {
        eventually(TIMEOUT, &format!("a pod would get {expected:?}"), || {
            let pod = self.namespace.create_dry_run(&job.pod("later")).map_err(|error| error.to_string())?;
            let found = Self::fabric_of(&pod);
            if found == *expected { Ok(()) } else { Err(format!("{found:?}")) }
        });
    }

    fn fabric_of(pod: &Value) -> (String, String) {
        let revision = pod["metadata"]["annotations"]["trainmesh.dev/fabric-revision"].as_str();
        let env = pod["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
        let hca = env.iter().find(|variable| variable["name"] == "NCCL_IB_HCA");
        let hca = hca.and_then(|variable| variable["value"].as_str());
        (revision.unwrap_or_default().to_owned(), hca.unwrap_or_default().to_owned())
    }

    /// Waits until the controller has recorded the revision of `job`.
    pub fn wait_until_pinned(&self, job: &Job) {
        eventually(TIMEOUT, "the gang is recorded", || {
            let recorded = self.webhook.config_namespace.get("configmap", "trainmesh-fabric").unwrap();
            let text = recorded["data"]["pins.json"].as_str().unwrap_or_default();
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
