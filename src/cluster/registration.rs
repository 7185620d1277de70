//! The registration of the webhook: whom its callers trust.

use futures::Stream;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

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
    /// The `caBundle` of each webhook, in their order; empty where it has none.
    pub bundles: Vec<Vec<u8>>,
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
        let bundles = webhooks.map(|webhook| bundle(webhook.client_config.ca_bundle)).collect();
        Ok(Some(Registration { version: object.metadata.resource_version.unwrap_or_default(), bundles }))
    }

    /// Has the callers of every webhook trust `certificates`, if the registration still is what `read` was. No other
    /// field is touched, or owned.
    ///
    /// Not by a server-side apply: whoever applies a field of a webhook owns the webhook too, and when the chart drops
    /// one, its upgrade fails, because a webhook of a name and a `caBundle` is left over.
    pub async fn trust(&self, read: &Registration, certificates: &str) -> Result<Written, AskError> {
        let step = format!("write the caBundle of MutatingWebhookConfiguration {}", self.name);
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::<()>::Json(patch(read, certificates));
        written(&step, self.api().patch_metadata(&self.name, &parameters, &patch)).await
    }

    /// Tells whenever it has changed.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        changes::<MutatingWebhookConfiguration>(Api::all(self.client.clone()), &self.name)
    }

    fn api(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }
}

/// Writes every `caBundle` of the object that was read: the version makes it a conflict to write another one, in which
/// the webhooks may stand in another order.
fn patch(read: &Registration, certificates: &str) -> json_patch::Patch {
    let bundle = json!(ByteString(certificates.as_bytes().to_vec()));
    let write = |(path, value)| PatchOperation::Add(AddOperation { path, value });
    let version = (PointerBuf::from_tokens(["metadata", "resourceVersion"]), json!(read.version));
    let bundles = (0..read.bundles.len()).map(|index| {
        let tokens = ["webhooks", &index.to_string(), "clientConfig", "caBundle"];
        (PointerBuf::from_tokens(tokens), bundle.clone())
    });
    json_patch::Patch([version].into_iter().chain(bundles).map(write).collect())
}

impl Registration {
    /// One as it might be read.
    #[must_use]
    pub fn new(version: &str, bundles: Vec<Vec<u8>>) -> Self {
        Self { version: version.to_owned(), bundles }
    }
}
