//! Pods to create: containers of busybox that a script describes; the injector adds the proxy.

use std::fmt;

use serde_json::{Value, json};

/// A pod, as a user would write it.
#[derive(Clone, Debug)]
pub struct Manifest(Value);

/// A container that runs `script` in a shell.
pub fn container(name: &str, script: &str) -> Value {
    json!({"name": name, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never", "command": ["sh", "-c", script]})
}

/// A container that is killed when it needs more memory than this.
pub fn limited(name: &str, script: &str, memory: &str) -> Value {
    let mut container = container(name, script);
    container["resources"] = json!({"limits": {"memory": memory}, "requests": {"memory": memory}});
    container
}

impl Manifest {
    /// A pod without containers, whose containers are never restarted.
    pub fn new(name: &str) -> Self {
        Self(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {}, "annotations": {}},
            // A shell that is process 1 ignores the signal to end: nobody waits for it.
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": []}}))
    }

    /// Adds a container that runs `script`.
    #[must_use]
    pub fn runs(self, name: &str, script: &str) -> Self {
        self.holds(container(name, script))
    }

    /// Adds a container.
    #[must_use]
    pub fn holds(mut self, container: Value) -> Self {
        self.0["spec"]["containers"].as_array_mut().expect("a list").push(container);
        self
    }

    /// Sets the restart policy of the pod.
    #[must_use]
    pub fn policy(self, policy: &str) -> Self {
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

    /// The proxy runs beside the containers, or as a native sidecar.
    #[must_use]
    pub fn native(self, native: bool) -> Self {
        self.annotation("sidecar.istio.io/nativeSidecar", if native { "true" } else { "false" })
    }

    /// What Istio's `ProxyConfig` is to hold.
    #[must_use]
    pub fn proxy(self, config: &Value) -> Self {
        self.annotation("proxy.istio.io/config", &config.to_string())
    }
}

impl From<Manifest> for Value {
    fn from(manifest: Manifest) -> Self {
        manifest.0
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
