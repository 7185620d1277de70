//! Manifests of workloads, and the state of the cluster that their controllers need to create pods.

use serde_json::{Value, json};

use crate::cluster::{Cluster, Namespace, list};

/// A workload to create and to preview.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Path of the manifest.
    pub path: &'static str,
    /// Operator to start.
    pub operator: Option<&'static str>,
    /// Path of a CRD that the operator needs but does not install.
    pub crd: Option<&'static str>,
    /// Replacements in the manifest; `@` stands for the name of the test's namespace.
    pub edits: &'static [(&'static str, &'static str)],
    /// Simulates the rest of the cluster while pods are missing.
    pub simulate: fn(&Namespace),
}

impl Case {
    /// Creates the case of a workload of a built-in kind.
    pub const fn new(path: &'static str) -> Self {
        Self { path, operator: None, crd: None, edits: &[], simulate: |_| {} }
    }

    /// Creates the case of a workload of this operator.
    pub const fn with_operator(path: &'static str, operator: &'static str) -> Self {
        Self { operator: Some(operator), ..Self::new(path) }
    }

    /// Starts the operator and applies the CRD.
    pub fn start(&self, cluster: &Cluster) {
        // Another test target may have started them; pods of these workloads must stay pending.
        cluster.stop_devices();
        if let Some(path) = self.crd {
            let _ = cluster.kubectl(&["apply", "--server-side", "-f", path], "").success();
        }
        if let Some(operator) = self.operator {
            cluster.start_operator(operator);
        }
    }

    /// Returns the manifest for `namespace`, with the replacements applied.
    pub fn manifest(&self, namespace: &str) -> String {
        let mut text = std::fs::read_to_string(self.path).unwrap();
        for (from, to) in self.edits {
            assert!(text.contains(from), "{} does not contain {from:?}", self.path);
            text = text.replace(from, &to.replace('@', namespace));
        }
        let lines = text.lines().map(|line| match line.split_once("namespace: ") {
            Some((indent, _)) if indent.trim().is_empty() => format!("{indent}namespace: {namespace}\n"),
            _ => format!("{line}\n"),
        });
        lines.collect()
    }
}

/// Creates the service accounts and priority classes that a manifest names. Without them the apiserver rejects its
/// pods, and some operators stop at the first rejected pod.
pub fn prepare(manifest: &str, namespace: &Namespace) {
    let named = |key| manifest.lines().filter_map(move |line| line.trim().strip_prefix(key)).map(str::trim);
    let accounts = named("serviceAccountName:")
        .map(|name| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}));
    let priorities = named("priorityClassName:").filter(|name| !name.starts_with("system-")).map(
        |name| json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000}),
    );
    let objects: Vec<_> = accounts.chain(priorities).collect();
    if !objects.is_empty() {
        let output = namespace.create(&list(objects));
        let errors = output.errors().filter(|line| !line.contains("AlreadyExists"));
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

/// Sets the pending pods to running and ready.
pub fn make_pods_ready(namespace: &Namespace) {
    set_pending_status(namespace, &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}));
}

/// Sets the pending pods to succeeded.
pub fn make_pods_succeed(namespace: &Namespace) {
    set_pending_status(namespace, &json!({"phase": "Succeeded"}));
}

/// Sets the status of pods without a node, which no kubelet overwrites.
fn set_pending_status(namespace: &Namespace, status: &Value) {
    let pods = namespace.pods("");
    let pending = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_null() && pod["status"]["phase"] == "Pending");
    let names: Vec<_> = pending.filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
    if !names.is_empty() {
        // Fails if a pod was deleted in the meantime; the next call retries.
        let _ = namespace.set_status("pods", &names, status);
    }
}

/// Sets the last schedule time of each `CronJob` to the past, so that it creates a Job now.
pub fn make_schedules_due(namespace: &Namespace) {
    let output = namespace.kubectl(&["get", "cronjobs", "-o", "name"], "").success();
    let last = json!({"lastScheduleTime": "2020-01-01T00:00:00Z"});
    let _ = namespace.set_status("cronjobs", &output.names(), &last).success();
}

/// Labels the nodes as GPU nodes.
pub fn label_gpu_node(_: &Namespace) {
    let _ = Cluster::get().kubectl(&["label", "nodes", "--all", "nvidia.com/gpu.present=true"], "").success();
}
