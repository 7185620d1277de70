//! The real binary, `trainmesh webhook`, registered with the real apiserver.
//!
//! Each [`Webhook`] is a process of its own under a registration of its own, a copy of `config/registration.yaml` that
//! only sees the namespaces made by [`Webhook::namespace`]: tests run side by side and share nothing. When it is
//! dropped, the registration goes and the process ends.

pub mod call;
mod certificate;
mod process;
mod registration;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

pub use call::{Call, calls, failed_open};
pub use certificate::{Authority, Certificate, base64};
pub use process::Process;
pub use registration::{Registration, Scope};

use crate::cluster::{Cluster, Namespace};

/// How often a configuration has come into force; 1 after the start.
pub const APPLIED: &str = "trainmesh_config_reloads_total{result=\"applied\"}";
/// How often one was refused.
pub const REFUSED: &str = "trainmesh_config_reloads_total{result=\"refused\"}";

/// How a webhook is started and registered.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Begin of the registration's name, which decides its place in the order of webhooks.
    pub name: &'a str,
    /// What the apiserver does when a call fails, where that differs from what is shipped.
    pub policy: Option<&'a str>,
    /// More flags; how it drains is among them.
    pub arguments: &'a [&'a str],
    /// Another kubeconfig than the cluster's.
    pub kubeconfig: Option<&'a Path>,
}

/// A running webhook that the apiserver asks.
#[derive(Debug)]
pub struct Webhook {
    // Dropped first: nobody is sent to a process that has ended.
    pub registration: Registration,
    pub process: Process,
    /// The namespace that its configuration is read from.
    pub home: Namespace,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { name: "0-trainmesh", policy: None, arguments: &["--drain", "0s"], kubeconfig: None }
    }
}

impl Webhook {
    /// As it is installed.
    pub fn start() -> Self {
        Self::with(&Options::default())
    }

    /// Another way; returns when it is ready and the apiserver asks it.
    pub fn with(options: &Options<'_>) -> Self {
        let scope = Scope::new();
        let home = Cluster::get().namespace(&[]);
        let process = Process::start(&home.name, Arc::new(Certificate::new()), options);
        let webhooks = manifest(options.policy, process.listen, &process.certificate.pem);
        let registration = Registration::new(scope, options.name, webhooks);
        Self { registration, process, home }
    }

    /// A new namespace whose pods this webhook may be asked about, if `labels` opt in.
    pub fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        self.registration.namespace(labels)
    }

    /// Writes its `ConfigMap`: `text` without the head that every configuration has.
    pub fn configure(&self, text: &str) {
        let text = format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{text}\n");
        let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "trainmesh-config"}, "data": {"config.yaml": text}});
        let _ = self.home.apply(&config_map).success();
    }
}

/// The webhooks of `config/registration.yaml`, to be called at `address` with the authorities of `bundle`.
pub fn manifest(policy: Option<&str>, address: SocketAddr, bundle: &str) -> Vec<Value> {
    let path = crate::repository().join("config/registration.yaml");
    let text = std::fs::read_to_string(path).expect("read config/registration.yaml");
    let mut registration: Value = trainmesh_core::yaml::parse(&text).expect("the registration is YAML");
    let Value::Array(mut webhooks) = registration["webhooks"].take() else { panic!("no webhooks") };
    for webhook in &mut webhooks {
        let path = webhook["clientConfig"]["service"]["path"].as_str().expect("a path");
        let url = format!("https://{address}{path}");
        webhook["clientConfig"] = json!({"url": url, "caBundle": base64(bundle)});
        if let Some(policy) = policy {
            webhook["failurePolicy"] = policy.into();
        }
    }
    webhooks
}
