//! A manifest as a user would write it, and what must be true of the cluster for it to make pods.

use serde_json::{Value, json};

use crate::cluster::{Cluster, Namespace, list};

/// A workload to create, and to preview.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Path of the manifest.
    pub path: &'static str,
    /// The operator that must run.
    pub operator: Option<&'static str>,
    /// Path of a CRD that the operator needs, but does not bring.
    pub crd: Option<&'static str>,
    /// Texts of the manifest to replace; `@` stands for the name of the test's namespace.
    pub edits: &'static [(&'static str, &'static str)],
    /// Does what the world would do, while pods are missing.
    pub help: fn(&Namespace),
}

impl Case {
    /// A workload of a built-in kind.
    pub const fn new(path: &'static str) -> Self {
        Self { path, operator: None, crd: None, edits: &[], help: |_| {} }
    }

    /// A workload of this operator.
    pub const fn with_operator(path: &'static str, operator: &'static str) -> Self {
        Self { operator: Some(operator), ..Self::new(path) }
    }

    /// Brings up what must run before the workload is created.
    pub fn start(&self, cluster: &Cluster) {
        // Another test target may have left some, and nothing could run what is given to a node here.
        cluster.no_devices();
        if let Some(path) = self.crd {
            let _ = cluster.kubectl(&["apply", "--server-side", "-f", path], "").success();
        }
        if let Some(operator) = self.operator {
            cluster.operator(operator);
        }
    }

    /// The manifest, in `namespace`.
    pub fn manifest(&self, namespace: &str) -> String {
        let mut text = std::fs::read_to_string(self.path).unwrap();
        for (from, to) in self.edits {
            assert!(text.contains(from), "{} holds no {from:?}", self.path);
            text = text.replace(from, &to.replace('@', namespace));
        }
        let lines = text.lines().map(|line| match line.split_once("namespace: ") {
            Some((indent, _)) if indent.trim().is_empty() => format!("{indent}namespace: {namespace}\n"),
            _ => format!("{line}\n"),
        });
        lines.collect()
    }
}

/// Creates the accounts and priorities that a manifest names: without them the apiserver refuses its pods, and some
/// operators go no further than the first that is refused.
pub fn prepare(manifest: &str, namespace: &Namespace) {
    let named = |key| manifest.lines().filter_map(move |line| line.trim().strip_prefix(key)).map(str::trim);
    let accounts = named("serviceAccountName:")
        .map(|name| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}));
    let priorities = named("priorityClassName:").filter(|name| !name.starts_with("system-")).map(
        |name| json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000}),
    );
    let objects: Vec<_> = accounts.chain(priorities).collect();
    if !objects.is_empty() {
        let answer = namespace.create(&list(objects));
        let others = answer.errors().filter(|line| !line.contains("AlreadyExists"));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

/// The pods that wait for a node run, and are ready.
pub fn pods_are_ready(namespace: &Namespace) {
    become_so(namespace, &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}));
}

/// The pods that wait for a node have done their work.
pub fn pods_have_succeeded(namespace: &Namespace) {
    become_so(namespace, &json!({"phase": "Succeeded"}));
}

/// A pod without a node has no kubelet that would object.
fn become_so(namespace: &Namespace, status: &Value) {
    let pods = namespace.pods("");
    let waiting = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_null() && pod["status"]["phase"] == "Pending");
    let names: Vec<_> = waiting.filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
    if !names.is_empty() {
        // One may be gone by now; the next look will tell.
        let _ = namespace.set_status("pods", &names, status);
    }
}

/// The last tick of each `CronJob` was missed, so that the next one is now.
pub fn a_tick_is_due(namespace: &Namespace) {
    let answer = namespace.kubectl(&["get", "cronjobs", "-o", "name"], "").success();
    let last = json!({"lastScheduleTime": "2020-01-01T00:00:00Z"});
    let _ = namespace.set_status("cronjobs", &answer.names(), &last).success();
}

/// A node has a GPU, as far as labels say so.
pub fn a_node_is_labelled(_: &Namespace) {
    let _ = Cluster::get().kubectl(&["label", "nodes", "--all", "nvidia.com/gpu.present=true"], "").success();
}
