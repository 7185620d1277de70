//! Runs `trainmesh webhook` with webhook configurations in a real apiserver.
//!
//! Each [`Webhook`] has its own process and its own webhook configuration, a copy of
//! `config/webhook-configuration.yaml` that matches only the namespaces created by [`Webhook::namespace`], so that
//! tests run concurrently. Dropping it deletes the configuration and stops the process.

pub mod call;
mod certificate;
mod configuration;
mod process;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

pub use call::{Call, calls, failed_open};
pub use certificate::{Certificate, CertificateAuthority, base64};
pub use configuration::{Scope, WebhookConfiguration};
pub use process::Process;

use crate::cluster::{Cluster, Namespace};

/// Series that counts applied configurations; 1 after the start.
pub const APPLIED: &str = "trainmesh_config_reloads_total{result=\"applied\"}";
/// Series that counts rejected configurations.
pub const REFUSED: &str = "trainmesh_config_reloads_total{result=\"refused\"}";

/// Timeout of calls in seconds, which a busy machine meets. With that of Istio's injector, it is below the deadline of the
/// apiserver's requests.
pub const CALL_TIMEOUT: u8 = 20;

/// Options of a webhook and of its configuration in the apiserver.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Prefix of the webhook configuration's name, which determines the order of calls.
    pub name: &'a str,
    /// Failure policy, if it differs from the shipped one.
    pub policy: Option<&'a str>,
    /// Timeout of calls in seconds, if it differs from [`CALL_TIMEOUT`].
    pub timeout: Option<u8>,
    /// Additional flags, including those for draining.
    pub arguments: &'a [&'a str],
    /// Kubeconfig, if it differs from the cluster's.
    pub kubeconfig: Option<&'a Path>,
}

/// A running webhook that the apiserver calls.
#[derive(Debug)]
pub struct Webhook {
    // Dropped before the process, so that the apiserver calls no stopped process.
    pub configuration: WebhookConfiguration,
    pub process: Process,
    /// Namespace of its `ConfigMap`.
    pub config_namespace: Namespace,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { name: "0-trainmesh", policy: None, timeout: None, arguments: &["--drain", "0s"], kubeconfig: None }
    }
}

impl Webhook {
    /// Starts a webhook with the default options.
    pub fn start() -> Self {
        Self::with_options(&Options::default())
    }

    /// Starts a webhook and waits until it is ready and the apiserver calls it.
    pub fn with_options(options: &Options<'_>) -> Self {
        let scope = Scope::new();
        let config_namespace = Cluster::get().namespace(&[]);
        let process = Process::start(&config_namespace.name, Arc::new(Certificate::new()), options);
        let mut webhooks = manifest(options.policy, process.listen, &process.certificate.pem);
        for webhook in &mut webhooks {
            webhook["timeoutSeconds"] = options.timeout.unwrap_or(CALL_TIMEOUT).into();
        }
        let configuration = WebhookConfiguration::new(scope, options.name, webhooks);
        Self { configuration, process, config_namespace }
    }

    /// Creates a namespace that the webhook configuration matches, if `labels` opt in.
    pub fn namespace(&self, labels: &[(&str, &str)]) -> Namespace {
        self.configuration.namespace(labels)
    }

    /// Creates or updates the `ConfigMap` with `text`, to which it adds `apiVersion` and `kind`.
    pub fn configure(&self, text: &str) {
        let text = format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{text}\n");
        let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "trainmesh-config"}, "data": {"config.yaml": text}});
        let _ = self.config_namespace.apply(&config_map).success();
    }
}

/// Returns the webhooks of `config/webhook-configuration.yaml` with the URL of `address`, the CA bundle `bundle`, and
/// [`CALL_TIMEOUT`].
pub fn manifest(policy: Option<&str>, address: SocketAddr, bundle: &str) -> Vec<Value> {
    let path = crate::repository().join("config/webhook-configuration.yaml");
    let text = std::fs::read_to_string(path).expect("read config/webhook-configuration.yaml");
    let mut configuration: Value = trainmesh_core::yaml::parse(&text).expect("parse the webhook configuration");
    let Value::Array(mut webhooks) = configuration["webhooks"].take() else { panic!("no webhooks") };
    for webhook in &mut webhooks {
        let path = webhook["clientConfig"]["service"]["path"].as_str().expect("a path");
        let url = format!("https://{address}{path}");
        webhook["clientConfig"] = json!({"url": url, "caBundle": base64(bundle)});
        webhook["timeoutSeconds"] = CALL_TIMEOUT.into();
        if let Some(policy) = policy {
            webhook["failurePolicy"] = policy.into();
        }
    }
    webhooks
}
