//! A test's own namespace.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::api;
use super::audit::AuditLog;
use super::kubectl::{self, KubectlOutput};

/// A namespace that is deleted in the background, with its objects, when it is dropped.
#[derive(Debug)]
pub struct Namespace {
    /// Unique name.
    pub name: String,
    audit: AuditLog,
}

impl Namespace {
    pub(super) fn with_labels(audit: AuditLog, labels: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
        let name = format!("test-{:x}-{}", since.as_millis(), COUNT.fetch_add(1, Ordering::Relaxed));
        let labels: Map<String, Value> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        api::ensure("namespace", None, &namespace);
        // The ServiceAccount controller creates it later; until then the apiserver rejects every pod.
        api::ensure("serviceaccount", Some(&name), &json!({"metadata": {"name": "default"}}));
        Self { name, audit }
    }

    /// Applies objects, in YAML or JSON, with `kubectl apply`.
    pub fn apply(&self, manifest: &(impl Display + ?Sized)) -> KubectlOutput {
        self.kubectl(&["apply", "-f", "-"], manifest)
    }

    /// Creates objects with `kubectl create`: for generated names, or to avoid the annotation that `apply` adds.
    pub fn create(&self, manifest: &(impl Display + ?Sized)) -> KubectlOutput {
        self.kubectl(&["create", "-f", "-"], manifest)
    }

    /// Deletes an object in the background.
    pub fn delete(&self, kind: &str, name: &str) -> KubectlOutput {
        self.kubectl(&["delete", kind, name, "--wait=false"], "")
    }

    /// Deletes a pod at once, without waiting for its kubelet, with the in-process client.
    pub fn delete_pod_now(&self, name: &str) {
        api::delete_now("pod", &self.name, name);
    }

    /// Creates a pod with the in-process client.
    pub fn create_pod(&self, pod: &Value) -> Result<(), kube::Error> {
        api::create("pod", Some(&self.name), pod, false).map(drop)
    }

    /// Creates a pod as a server-side dry run and returns it as admission would store it.
    pub fn create_dry_run(&self, pod: &Value) -> Result<Value, kube::Error> {
        api::create("pod", Some(&self.name), pod, true)
    }

    /// Gets an object. Returns `None` if it does not exist.
    pub fn get(&self, kind: &str, name: &str) -> Option<Value> {
        api::get(kind, Some(&self.name), name)
    }

    /// Lists the events of this namespace.
    pub fn events(&self) -> Vec<Value> {
        api::list("event", Some(&self.name), "")
    }

    /// Lists the pods that match a label selector; an empty selector matches all.
    pub fn pods(&self, selector: &str) -> Vec<Value> {
        api::list("pod", Some(&self.name), selector)
    }

    /// Merges `status` into the status of objects, as their controller or the kubelet would.
    pub fn set_status(&self, kind: &str, names: &[&str], status: &Value) -> KubectlOutput {
        let patch = json!({"status": status}).to_string();
        self.kubectl(&[&["patch", kind, "--subresource=status", "--type=merge", "-p", &patch], names].concat(), "")
    }

    /// Runs `kubectl` in this namespace.
    pub fn kubectl(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> KubectlOutput {
        kubectl::run(&[&["--namespace", &self.name], arguments].concat(), &input.to_string())
    }

    /// Returns the completed requests for this namespace, in order, that `keep` accepts.
    pub fn audit(&self, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.audit.events(&self.name, |event| self.contains(event) && keep(event))
    }

    /// As [`Namespace::audit`], including requests in progress.
    pub fn audit_started(&self, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.audit.started_events(&self.name, |event| self.contains(event) && keep(event))
    }

    fn contains(&self, event: &Value) -> bool {
        event["objectRef"]["namespace"] == *self.name
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // An error here must not replace the failure of the test.
        let _ = api::delete("namespace", &self.name);
    }
}
