//! Reads the webhook configuration and writes its `caBundle` fields.

use futures::Stream;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::changes::changes;
use super::client::FIELD_MANAGER;
use super::request::{RequestError, find, write};
use trainmesh_core::objects::{WebhookConfiguration, WriteOutcome};

/// Client for one webhook configuration.
pub(super) struct WebhookConfigurationClient {
    client: Client,
    name: String,
}

impl WebhookConfigurationClient {
    /// Creates a client for the webhook configuration called `name`.
    pub(super) fn new(client: Client, name: &str) -> Self {
        Self { client, name: name.to_owned() }
    }

    /// Reads the webhook configuration, if it exists.
    pub(super) async fn read(&self) -> Result<Option<WebhookConfiguration>, RequestError> {
        let step = format!("read MutatingWebhookConfiguration {}", self.name);
        let Some(object) = find(&step, self.api().get(&self.name)).await? else { return Ok(None) };
        let bundle = |config: Option<ByteString>| config.map(|bytes| bytes.0).unwrap_or_default();
        let webhooks = object.webhooks.unwrap_or_default().into_iter();
        let ca_bundles = webhooks.map(|webhook| bundle(webhook.client_config.ca_bundle)).collect();
        let resource_version = object.metadata.resource_version.unwrap_or_default();
        Ok(Some(WebhookConfiguration { resource_version, ca_bundles }))
    }

    /// Writes `certificates` into the `caBundle` of every webhook, unless the object has changed since `read`. Touches
    /// and owns no other field.
    ///
    /// Not a server-side apply, because that also claims ownership of the list item with the field. A chart upgrade
    /// that removes a webhook would then fail: an item with only a name and a `caBundle` would remain.
    pub(super) async fn write_ca_bundle(
        &self,
        read: &WebhookConfiguration,
        certificates: &str,
    ) -> Result<WriteOutcome, RequestError> {
        let step = format!("write the caBundle of MutatingWebhookConfiguration {}", self.name);
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::<()>::Json(patch(read, certificates));
        write(&step, self.api().patch_metadata(&self.name, &parameters, &patch)).await
    }

    /// Yields whenever the object changes.
    pub(super) fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        changes::<MutatingWebhookConfiguration>(Api::all(self.client.clone()), &self.name)
    }

    fn api(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }
}

/// Returns a patch of every `caBundle`. It contains the resourceVersion, so that it conflicts with a concurrent change
/// that reorders the webhooks.
fn patch(read: &WebhookConfiguration, certificates: &str) -> json_patch::Patch {
    let bundle = json!(ByteString(certificates.as_bytes().to_vec()));
    let write = |(path, value)| PatchOperation::Add(AddOperation { path, value });
    let version = (PointerBuf::from_tokens(["metadata", "resourceVersion"]), json!(read.resource_version));
    let bundles = (0..read.ca_bundles.len()).map(|index| {
        let tokens = ["webhooks", &index.to_string(), "clientConfig", "caBundle"];
        (PointerBuf::from_tokens(tokens), bundle.clone())
    });
    json_patch::Patch([version].into_iter().chain(bundles).map(write).collect())
}
