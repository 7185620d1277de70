//! A webhook configuration that only matches its own namespaces.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::calls;
use crate::cluster::{Cluster, Namespace, TIMEOUT, eventually};

const LABEL: &str = "test.trainmesh.dev/scope";

/// Unique label value that selects the namespaces of one webhook configuration.
#[derive(Clone, Debug)]
pub struct Scope(pub String);

/// A `MutatingWebhookConfiguration`; deleted when it is dropped.
#[derive(Debug)]
pub struct WebhookConfiguration {
    pub name: String,
    scope: Scope,
}

impl Scope {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
        Self(format!("{:x}-{}", since.as_millis(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns key and value of the label of its namespaces.
    pub fn label(&self) -> (&str, &str) {
        (LABEL, &self.0)
    }
}

impl WebhookConfiguration {
    /// Creates a configuration of `webhooks` for the namespaces of `scope`, with `name` as prefix of its name, and
    /// waits until the apiserver calls them.
    pub fn new(scope: Scope, name: &str, mut webhooks: Vec<Value>) -> Self {
        let name = format!("{name}-{}", scope.0);
        for webhook in &mut webhooks {
            let selector = &mut webhook["namespaceSelector"]["matchExpressions"];
            if selector.is_null() {
                *selector = json!([]);
            }
            let (key, value) = scope.label();
            selector.as_array_mut().expect("a list").push(json!({"key": key, "operator": "In", "values": [value]}));
        }
        Cluster::get().create_webhooks(&json!({"metadata": {"name": name}, "webhooks": webhooks}));
        let configuration = Self { name, scope };
        configuration.wait_until_called();
        configuration
    }

    /// Creates a namespace that the configuration matches.
    pub fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        Cluster::get().namespace(&[&[self.scope.label()], labels].concat())
    }

    /// Returns the label that makes the configuration match a namespace.
    pub fn label(&self) -> (&str, &str) {
        self.scope.label()
    }

    /// Changes the configuration with a JSON patch, which takes effect after a short delay.
    pub fn patch(&self, patch: &str) {
        let arguments = ["patch", "mutatingwebhookconfiguration", &self.name, "--type=json", "-p", patch];
        let _ = Cluster::get().kubectl(&arguments, "").success();
    }

    /// Creates pods as dry runs until the apiserver calls the webhooks: it watches webhook configurations.
    fn wait_until_called(&self) {
        let namespace = self.namespace(&[("trainmesh.dev/inject", "enabled")]);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
            "spec": {"containers": [{"name": "probe", "image": "trainmesh.test/busybox:1"}]}});
        eventually(TIMEOUT, "the apiserver calls the new webhooks", || {
            let probe = namespace.create_dry_run(&pod);
            let calls = namespace.audit(|event| calls(event).iter().any(|call| call.configuration == self.name));
            if calls.is_empty() { Err(format!("{:?}", probe.err())) } else { Ok(()) }
        });
    }
}

impl Drop for WebhookConfiguration {
    fn drop(&mut self) {
        Cluster::get().delete_webhooks(&self.name);
    }
}
