//! A controller that leads, and a namespace that is served.

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace};
use trainmesh_testing::controller::{Controller, Group, Manifest, SERVED, Seen, watch};

/// What most tests need. The controller goes first, then its pods.
#[derive(Debug)]
pub struct World {
    pub controller: Controller,
    pub group: Group,
    pub namespace: Namespace,
}

impl World {
    pub fn new() -> Self {
        Self::with(&json!({}))
    }

    /// With these fields in the section `termination` of the configuration.
    pub fn with(termination: &Value) -> Self {
        let group = Group::with(termination);
        let controller = group.start();
        controller.led();
        Self { controller, group, namespace: Cluster::get().namespace(&SERVED) }
    }

    /// Creates a pod.
    pub fn create(&self, pod: &Manifest) {
        let _ = self.namespace.create(pod).success();
    }

    /// Waits until a pod is over.
    pub fn over(&self, name: &str) -> Seen {
        watch(&self.namespace, name, "over", Seen::over)
    }

    /// Waits until the controller has ended a pod whose payload ends now: had it wanted to end a pod whose payload
    /// ended before, it would have done so. The webhook has not missed this pod, which asks for the hold by itself.
    pub fn catches_up(&self) {
        let name = "last";
        let hold = json!({"holdApplicationUntilProxyStarts": true});
        self.create(&self.group.pod(name).proxy(&hold).runs("train", "true"));
        self.over(name);
    }
}
