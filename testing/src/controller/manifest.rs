//! Pod manifests whose busybox containers run shell scripts. The injector adds the proxy.

use std::fmt;

use serde_json::{Value, json};

/// Builder of a pod manifest.
#[derive(Clone, Debug)]
pub struct PodManifest(Value);

/// Returns a container that runs `script` in a shell.
pub fn container(name: &str, script: &str) -> Value {
    json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never", "command": ["sh", "-c", script]})
}

/// Returns a container with a memory limit.
pub fn container_with_memory_limit(name: &str, script: &str, memory: &str) -> Value {
    let mut container = container(name, script);
    container["resources"] = json!({"limits": {"memory": memory}, "requests": {"memory": memory}});
    container
}

impl PodManifest {
    /// Creates a pod without containers and with restart policy `Never`.
    pub fn new(name: &str) -> Self {
        Self(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {}, "annotations": {}},
            // A shell that is process 1 ignores SIGTERM.
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": []}}))
    }

    /// Adds a container that runs `script`.
    #[must_use]
    pub fn script(self, name: &str, script: &str) -> Self {
        self.container(container(name, script))
    }

    /// Adds a container.
    #[must_use]
    pub fn container(mut self, container: Value) -> Self {
        self.0["spec"]["containers"].as_array_mut().expect("a list").push(container);
        self
    }

    /// Sets the restart policy of the pod.
    #[must_use]
    pub fn restart_policy(self, policy: &str) -> Self {
        self.spec("restartPolicy", policy.into())
    }

    /// Sets a field of the specification.
    #[must_use]
    pub fn spec(mut self, field: &str, value: Value) -> Self {
        self.0["spec"][field] = value;
        self
    }

    /// Sets a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    /// Sets an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = value.into();
        self
    }

    /// Chooses between a native sidecar and a classic one.
    #[must_use]
    pub fn native(self, native: bool) -> Self {
        self.annotation("sidecar.istio.io/nativeSidecar", if native { "true" } else { "false" })
    }

    /// Sets Istio's `ProxyConfig`.
    #[must_use]
    pub fn proxy_config(self, config: &Value) -> Self {
        self.annotation("proxy.istio.io/config", &config.to_string())
    }
}

impl From<PodManifest> for Value {
    fn from(manifest: PodManifest) -> Self {
        manifest.0
    }
}

impl fmt::Display for PodManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
