//! The registration of the webhook: whom its callers trust.

use std::collections::BTreeMap;

use futures::Stream;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::ask::{AskError, Written, found, written};
use super::changes::changes;
use super::client::MANAGER;

/// The registration of one name.
pub struct Registrations {
    client: Client,
    name: String,
}

/// A registration as it was at some version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    version: String,
    /// The `caBundle` of each webhook, by the webhook's name; empty where it has none.
    pub bundles: BTreeMap<String, Vec<u8>>,
}

impl Registrations {
    /// That of `name`.
    #[must_use]
    pub fn new(client: Client, name: &str) -> Self {
        Self { client, name: name.to_owned() }
    }

    /// The registration, if there is one.
    pub async fn read(&self) -> Result<Option<Registration>, AskError> {
        let step = format!("read MutatingWebhookConfiguration {}", self.name);
        let Some(object) = found(&step, self.api().get(&self.name)).await? else { return Ok(None) };
        let bundle = |config: Option<ByteString>| config.map(|bytes| bytes.0).unwrap_or_default();
        let webhooks = object.webhooks.unwrap_or_default().into_iter();
        let bundles = webhooks.map(|webhook| (webhook.name, bundle(webhook.client_config.ca_bundle))).collect();
        Ok(Some(Registration { version: object.metadata.resource_version.unwrap_or_default(), bundles }))
    }

    /// Has the callers of every webhook trust `certificates`, if the registration still is what `read` was. No other
    /// field is touched, or owned.
    pub async fn trust(&self, read: &Registration, certificates: &str) -> Result<Written, AskError> {
        let step = format!("write the caBundle of MutatingWebhookConfiguration {}", self.name);
        let bundle = ByteString(certificates.as_bytes().to_vec());
        let webhooks: Vec<Value> =
            read.bundles.keys().map(|name| json!({"name": name, "clientConfig": {"caBundle": bundle}})).collect();
        let fields = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self.name, "resourceVersion": read.version}, "webhooks": webhooks});
        let parameters = PatchParams::apply(MANAGER).force();
        written(&step, self.api().patch_metadata(&self.name, &parameters, &Patch::Apply(fields))).await
    }

    /// Tells whenever it has changed.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        changes::<MutatingWebhookConfiguration>(Api::all(self.client.clone()), &self.name)
    }

    fn api(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }
}

impl Registration {
    /// One as it might be read.
    #[must_use]
    pub fn new(version: &str, bundles: BTreeMap<String, Vec<u8>>) -> Self {
        Self { version: version.to_owned(), bundles }
    }
}
