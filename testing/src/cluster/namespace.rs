//! A test's own namespace.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::api;
use super::audit::AuditLog;
use super::kubectl::{self, Applied};

/// A namespace that goes, with all it holds, when the test ends; nobody waits for that.
#[derive(Debug)]
pub struct Namespace {
    /// Its name, which no other test has.
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
        let _ = api::create("namespace", None, &namespace, false).expect("make a namespace");
        // Its controller makes it too, but only a moment later; until then every pod is refused.
        match api::create("serviceaccount", Some(&name), &json!({"metadata": {"name": "default"}}), false) {
            Err(error) if !api::exists(&error) => panic!("could not make the account of {name}: {error}"),
            _ => Self { name, audit },
        }
    }

    /// Creates or changes objects in this namespace: YAML or JSON, one or many.
    pub fn apply(&self, manifest: &(impl Display + ?Sized)) -> Applied {
        self.kubectl(&["apply", "-f", "-"], manifest)
    }

    /// As [`Namespace::apply`], by `kubectl create`: for generated names, and where the annotation of `apply` is unwanted.
    pub fn create(&self, manifest: &(impl Display + ?Sized)) -> Applied {
        self.kubectl(&["create", "-f", "-"], manifest)
    }

    /// Deletes an object, without waiting for its end.
    pub fn delete(&self, kind: &str, name: &str) -> Applied {
        self.kubectl(&["delete", kind, name, "--wait=false"], "")
    }

    /// Creates a pod, as [`Namespace::create`] does, or tells why not.
    pub fn create_pod(&self, pod: &Value) -> Result<(), kube::Error> {
        api::create("pod", Some(&self.name), pod, false).map(drop)
    }

    /// What the apiserver would make of a pod, or why it would not; none is created.
    pub fn rehearse(&self, pod: &Value) -> Result<Value, kube::Error> {
        api::create("pod", Some(&self.name), pod, true)
    }

    /// An object, if there is one of this name.
    pub fn get(&self, kind: &str, name: &str) -> Option<Value> {
        api::get(kind, Some(&self.name), name)
    }

    /// What was told of the objects here.
    pub fn events(&self) -> Vec<Value> {
        api::list("event", Some(&self.name), "")
    }

    /// The pods that a label selector finds; all of them if it is empty.
    pub fn pods(&self, selector: &str) -> Vec<Value> {
        api::list("pod", Some(&self.name), selector)
    }

    /// Merges `status` into the status of some objects, as their controller or the kubelet would.
    pub fn set_status(&self, kind: &str, names: &[&str], status: &Value) -> Applied {
        let patch = json!({"status": status}).to_string();
        self.kubectl(&[&["patch", kind, "--subresource=status", "--type=merge", "-p", &patch], names].concat(), "")
    }

    /// Runs `kubectl` in this namespace.
    pub fn kubectl(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> Applied {
        kubectl::run(&[&["--namespace", &self.name], arguments].concat(), &input.to_string())
    }

    /// The finished requests for this namespace since it was made, in their order, that `keep` picks.
    pub fn audit(&self, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.audit.events(&self.name, |event| self.holds(event) && keep(event))
    }

    /// As [`Namespace::audit`], those among them that are not finished yet.
    pub fn audit_begun(&self, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.audit.begun(&self.name, |event| self.holds(event) && keep(event))
    }

    fn holds(&self, event: &Value) -> bool {
        event["objectRef"]["namespace"] == *self.name
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A test that fails must say why, not that its namespace could not be deleted.
        let _ = api::delete("namespace", &self.name);
    }
}
