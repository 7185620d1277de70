//! The objects of the chart: two empty Secrets, a Service with replicas, and a webhook configuration without
//! `caBundle`.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use trainmesh_core::objects::{CA_SECRET, SERVICE, SERVING_SECRET, WEBHOOK_CONFIGURATION, service_host};

use super::replica::Replica;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::webhook::{CALL_TIMEOUT, Scope, WebhookConfiguration};

/// Labels of a namespace whose pods are patched.
const OPTED_IN: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("istio-injection", "enabled")];

/// An installation for one test, without certificates.
pub struct Installation {
    // Dropped first, so that no call goes to a stopped process.
    pub configuration: WebhookConfiguration,
    pub replicas: Vec<Replica>,
    pub home: Namespace,
    /// A namespace that is opted in.
    pub served: Namespace,
}

impl Installation {
    /// Creates an installation with this many replicas, which are not ready.
    pub fn new(replicas: usize) -> Self {
        let home = Cluster::get().namespace(&[]);
        let replicas: Vec<Replica> = (0..replicas).map(|_| Replica::start(&home.name)).collect();
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE},
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": "https"}]}});
        let slices = replicas.iter().enumerate().map(|(index, replica)| {
            json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": format!("{SERVICE}-{index}"),
                    "labels": {"kubernetes.io/service-name": SERVICE}},
                "ports": [{"name": "https", "port": replica.listen.port(), "protocol": "TCP"}],
                "endpoints": [{"addresses": [replica.listen.ip()], "conditions": {"ready": true}}]})
        });
        let objects = [empty(CA_SECRET), empty(SERVING_SECRET), service].into_iter().chain(slices);
        let _ = home.create(&list(objects)).success();
        let configuration = WebhookConfiguration::new(Scope::new(), WEBHOOK_CONFIGURATION, webhooks(&home.name));
        let served = configuration.namespace(&OPTED_IN);
        Self { configuration, replicas, home, served }
    }

    /// Returns the host name that the apiserver uses for the Service.
    pub fn host(&self) -> String {
        service_host(SERVICE, &self.home.name)
    }

    /// Waits until all replicas have a certificate.
    pub fn wait_ready(&self) {
        for replica in &self.replicas {
            replica.wait_ready();
        }
    }

    /// Returns the content of a Secret.
    pub fn secret(&self, name: &str) -> BTreeMap<String, String> {
        let data = self.home.get("secret", name).map(|mut secret| secret["data"].take()).unwrap_or_default();
        let data: Option<BTreeMap<String, ByteString>> = serde_json::from_value(data).unwrap();
        data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, text(&bytes))).collect()
    }

    /// Replaces the content of a Secret.
    pub fn overwrite(&self, name: &str, data: &Value) {
        let patch = json!([{"op": "add", "path": "/data", "value": data}]).to_string();
        let _ = self.home.kubectl(&["patch", "secret", name, "--type=json", "-p", &patch], "").success();
    }

    /// Returns the `caBundle` of each webhook.
    pub fn bundles(&self) -> Vec<String> {
        let read = Cluster::get().object(KIND, &self.configuration.name).expect("the webhook configuration exists");
        let webhooks = read["webhooks"].as_array().cloned().unwrap_or_default().into_iter();
        let bundle = |mut webhook: Value| webhook["clientConfig"]["caBundle"].take();
        webhooks
            .map(bundle)
            .map(|value| serde_json::from_value(value).map(|bytes| text(&bytes)).unwrap_or_default())
            .collect()
    }

    /// Replaces the `caBundle` of one webhook.
    pub fn set_bundle(&self, webhook: usize, bundle: &str) {
        let value = ByteString(bundle.as_bytes().to_vec());
        let field = format!("/webhooks/{webhook}/clientConfig/caBundle");
        let patch = json!([{"op": "replace", "path": field, "value": value}]).to_string();
        let arguments = ["patch", KIND, &self.configuration.name, "--type=json", "-p", &patch];
        let _ = Cluster::get().kubectl(&arguments, "").success();
    }

    /// Waits until this many webhooks have the same, non-empty `caBundle`.
    pub fn wait_bundles(&self, count: usize) {
        eventually(TIMEOUT, "every webhook has a caBundle", || {
            let bundles = self.bundles();
            let same = bundles.iter().all(|bundle| !bundle.is_empty() && *bundle == bundles[0]);
            if same && bundles.len() == count { Ok(()) } else { Err(format!("{bundles:?}")) }
        });
    }

    /// Waits until pods are patched (dry run): the apiserver reads `caBundle` from a watch.
    pub fn wait_patched(&self) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"},
            "spec": {"containers": [{"name": "train", "image": "trainmesh.test/busybox:1"}]}});
        eventually(TIMEOUT, "pods are patched", || {
            let pod = self.served.create_dry_run(&pod).map_err(|error| error.to_string())?;
            let applied = &pod["metadata"]["annotations"]["trainmesh.dev/applied"];
            if applied == "mesh.hold" { Ok(()) } else { Err("not patched".to_owned()) }
        });
    }
}

/// Resource name of webhook configurations.
const KIND: &str = "mutatingwebhookconfiguration";

/// Returns a Secret as the chart creates it: without data, which an upgrade would overwrite.
pub fn empty(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque"})
}

/// The webhooks of `config/configuration.yaml`, in namespace `home`.
pub fn webhooks(home: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/webhook-configuration.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut configuration: Value = trainmesh_core::yaml::parse(&text).unwrap();
    let mut webhooks = configuration["webhooks"].take().as_array().cloned().unwrap_or_default();
    for webhook in &mut webhooks {
        webhook["clientConfig"]["service"]["namespace"] = home.into();
        webhook["timeoutSeconds"] = CALL_TIMEOUT.into();
    }
    webhooks
}

fn text(bytes: &ByteString) -> String {
    String::from_utf8_lossy(&bytes.0).into_owned()
}
