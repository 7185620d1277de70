//! A registration of webhooks that only sees its own namespaces.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::calls;
use crate::cluster::{Cluster, Namespace, PATIENCE, eventually};

const LABEL: &str = "test.trainmesh.dev/scope";

/// Sets apart the namespaces of one registration. It is also a name that no other test has.
#[derive(Clone, Debug)]
pub struct Scope(pub String);

/// A registration, until it is dropped.
#[derive(Debug)]
pub struct Registration {
    /// Its name.
    pub name: String,
    scope: Scope,
}

impl Scope {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
        Self(format!("{:x}-{}", since.as_millis(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The label of its namespaces.
    pub fn label(&self) -> (&str, &str) {
        (LABEL, &self.0)
    }
}

impl Registration {
    /// Registers `webhooks` for the namespaces of `scope`, under a name that begins with `name`; returns when the
    /// apiserver asks them.
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
        Cluster::get().register(&json!({"metadata": {"name": name}, "webhooks": webhooks}));
        let registration = Self { name, scope };
        registration.wait();
        registration
    }

    /// A new namespace that it sees.
    pub fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        Cluster::get().namespace(&[&[self.scope.label()], labels].concat())
    }

    /// The label that makes it see a namespace.
    pub fn label(&self) -> (&str, &str) {
        self.scope.label()
    }

    /// Changes it by a JSON patch; the apiserver learns of that a moment later.
    pub fn patch(&self, patch: &str) {
        let arguments = ["patch", "mutatingwebhookconfiguration", &self.name, "--type=json", "-p", patch];
        let _ = Cluster::get().kubectl(&arguments, "").success();
    }

    /// The apiserver learns of a registration by a watch: asks for pods until it has.
    fn wait(&self) {
        let namespace = self.namespace(&[("trainmesh.dev/inject", "enabled")]);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
            "spec": {"containers": [{"name": "probe", "image": "trainmesh.test/busybox:1"}]}});
        eventually(PATIENCE, "the apiserver asks the new webhook", || {
            let probe = namespace.rehearse(&pod);
            let asked = namespace.audit(|event| calls(event).iter().any(|call| call.configuration == self.name));
            if asked.is_empty() { Err(format!("{:?}", probe.err())) } else { Ok(()) }
        });
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        Cluster::get().unregister(&self.name);
    }
}
