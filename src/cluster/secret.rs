//! Reads and patches Secrets by name; never creates them. None of their data is logged.

use std::collections::BTreeMap;

use futures::Stream;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as ApiSecret;
use kube::api::{GetParams, Patch, PatchParams, Request};
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::changes::changes;
use super::client::FIELD_MANAGER;
use super::request::{RequestError, find, write};
use trainmesh_core::objects::{Secret, WriteOutcome};

/// The Secrets of one namespace.
pub struct Secrets {
    client: Client,
    namespace: String,
}

/// The fields that are read. Not k8s-openapi's type, because kube logs a response that it fails to decode.
#[derive(Deserialize)]
struct SecretFields {
    metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
}

impl Secrets {
    /// Creates a client for the Secrets of `namespace`.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    /// Reads the Secret called `name`, if it exists.
    pub async fn read(&self, name: &str) -> Result<Option<Secret>, RequestError> {
        let step = format!("read Secret {}/{name}", self.namespace);
        let request =
            Request::new(ApiSecret::url_path(&(), Some(&self.namespace))).get(name, &GetParams::default()).map_err(
                |error| RequestError::Failed { step: step.clone(), source: Box::new(kube::Error::BuildRequest(error)) },
            )?;
        let Some(text) = find(&step, self.client.request_text(request)).await? else { return Ok(None) };
        let fields: SecretFields = serde_json::from_str(&text).map_err(|_| RequestError::Malformed(step))?;
        let data = fields.data.into_iter().map(|(key, bytes)| (key, bytes.0)).collect();
        Ok(Some(Secret::new(fields.metadata.resource_version.unwrap_or_default(), data)))
    }

    /// Writes some keys of the Secret called `name`, unless it has changed since `read`.
    pub async fn write(&self, name: &str, read: &Secret, data: &[(&str, &str)]) -> Result<WriteOutcome, RequestError> {
        let step = format!("write Secret {}/{name}", self.namespace);
        let bytes = |text: &str| serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap_or_default();
        let data: Map<String, Value> = data.iter().map(|(key, text)| ((*key).to_owned(), bytes(text))).collect();
        let patch = json!({"metadata": {"resourceVersion": read.resource_version}, "data": data});
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        // The response contains metadata alone.
        write(&step, self.api().patch_metadata(name, &parameters, &Patch::Merge(patch))).await
    }

    /// Yields whenever the Secret called `name` changes.
    pub fn changes(&self, name: &str) -> impl Stream<Item = ()> + Send + use<> {
        changes::<ApiSecret>(Api::namespaced(self.client.clone(), &self.namespace), name)
    }

    fn api(&self) -> Api<ApiSecret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}
