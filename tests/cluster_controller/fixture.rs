//! A controller that leads, and a namespace that is opted in.

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace};
use trainmesh_testing::controller::{Controller, Group, OPTED_IN, ObservedPod, PodManifest, wait_for_pod};

/// Fixture of most tests. The controller is dropped first, then its pods.
#[derive(Debug)]
pub struct Fixture {
    pub controller: Controller,
    pub group: Group,
    pub namespace: Namespace,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(&json!({}))
    }

    /// Creates a fixture with these fields in the section `termination` of the configuration.
    pub fn with(termination: &Value) -> Self {
        let group = Group::with_termination(termination);
        let controller = group.start();
        controller.wait_for_leadership();
        Self { controller, group, namespace: Cluster::get().namespace(&OPTED_IN) }
    }

    /// Creates a pod.
    pub fn create(&self, pod: &PodManifest) {
        let _ = self.namespace.create(pod).success();
    }

    /// Waits until a pod has finished.
    pub fn wait_finished(&self, name: &str) -> ObservedPod {
        wait_for_pod(&self.namespace, name, "finished", ObservedPod::is_finished)
    }

    /// Waits until the controller has terminated the proxy of a pod that finishes now: by then it has handled all pods
    /// that finished earlier. The webhook has not missed this pod, which requests the hold itself.
    pub fn wait_caught_up(&self) {
        let name = "last";
        let hold = json!({"holdApplicationUntilProxyStarts": true});
        self.create(&self.group.pod(name).proxy_config(&hold).script("train", "true"));
        self.wait_finished(name);
    }
}
