//! Secrets by name: read whole, written in part, never made. None of their data is ever logged.

use std::collections::BTreeMap;
use std::fmt;

use futures::Stream;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as Object;
use kube::api::{GetParams, Patch, PatchParams, Request};
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask::{AskError, Written, found, written};
use super::changes::changes;
use super::client::MANAGER;

/// The Secrets of one namespace.
pub struct Secrets {
    client: Client,
    namespace: String,
}

/// A Secret as it was at some version.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    version: String,
    data: BTreeMap<String, Vec<u8>>,
}

/// The part of the object that is read. The library's own type would do; but it logs a text that it cannot read.
#[derive(Deserialize)]
struct Answer {
    metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
}

impl Secrets {
    /// Those of `namespace`.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    /// The Secret called `name`, if there is one.
    pub async fn read(&self, name: &str) -> Result<Option<Secret>, AskError> {
        let step = format!("read Secret {}/{name}", self.namespace);
        let request =
            Request::new(Object::url_path(&(), Some(&self.namespace))).get(name, &GetParams::default()).map_err(
                |error| AskError::Failed { step: step.clone(), source: Box::new(kube::Error::BuildRequest(error)) },
            )?;
        let Some(text) = found(&step, self.client.request_text(request)).await? else { return Ok(None) };
        let answer: Answer = serde_json::from_str(&text).map_err(|_| AskError::Malformed(step))?;
        let data = answer.data.into_iter().map(|(key, bytes)| (key, bytes.0)).collect();
        Ok(Some(Secret { version: answer.metadata.resource_version.unwrap_or_default(), data }))
    }

    /// Writes some keys of the Secret called `name`, if it still is what `read` was.
    pub async fn write(&self, name: &str, read: &Secret, data: &[(&str, &str)]) -> Result<Written, AskError> {
        let step = format!("write Secret {}/{name}", self.namespace);
        let bytes = |text: &str| serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap_or_default();
        let data: Map<String, Value> = data.iter().map(|(key, text)| ((*key).to_owned(), bytes(text))).collect();
        let patch = json!({"metadata": {"resourceVersion": read.version}, "data": data});
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        // The answer is metadata alone.
        written(&step, self.api().patch_metadata(name, &parameters, &Patch::Merge(patch))).await
    }

    /// Tells whenever the Secret called `name` has changed.
    pub fn changes(&self, name: &str) -> impl Stream<Item = ()> + Send + use<> {
        changes::<Object>(Api::namespaced(self.client.clone(), &self.namespace), name)
    }

    fn api(&self) -> Api<Object> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

impl Secret {
    /// One as it might be read.
    #[must_use]
    pub fn new(version: &str, data: BTreeMap<String, Vec<u8>>) -> Self {
        Self { version: version.to_owned(), data }
    }

    /// What stands under `key`; nothing where the key is not there.
    #[must_use]
    pub fn get(&self, key: &str) -> &[u8] {
        self.data.get(key).map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.data.keys().collect();
        formatter.debug_struct("Secret").field("version", &self.version).field("keys", &keys).finish_non_exhaustive()
    }
}
