//! The `ConfigMap` with what living gangs carry: written by the controller that leads, watched by every webhook.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::super::client::MANAGER;
use super::super::request::{RequestError, find, write};
use trainmesh_core::gang::pins::Pins;
use trainmesh_core::objects::{FABRIC_CONFIG_MAP, WriteOutcome};

/// The key that holds the pins.
const KEY: &str = "pins.json";

/// The `ConfigMap` of one namespace.
pub struct PinStore {
    api: Api<ConfigMap>,
    namespace: String,
}

/// The pins as they were at some version.
#[derive(Clone, Debug)]
pub struct Stored {
    version: String,
    /// The pins.
    pub pins: Pins,
}

impl PinStore {
    /// That of `namespace`.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), namespace: namespace.to_owned() }
    }

    /// What is kept; `None` where there is no object to keep it in.
    pub async fn read(&self) -> Result<Option<Stored>, RequestError> {
        let step = format!("read ConfigMap {}/{FABRIC_CONFIG_MAP}", self.namespace);
        let Some(object) = find(&step, self.api.get(FABRIC_CONFIG_MAP)).await? else { return Ok(None) };
        let pins = parse(&object);
        Ok(Some(Stored { version: object.metadata.resource_version.unwrap_or_default(), pins }))
    }

    /// Keeps `pins`, if the object still is what `read` was.
    pub async fn write(&self, read: &Stored, pins: &Pins) -> Result<WriteOutcome, RequestError> {
        let step = format!("write ConfigMap {}/{FABRIC_CONFIG_MAP}", self.namespace);
        let data = BTreeMap::from([(KEY, pins.write())]);
        let patch = json!({"metadata": {"resourceVersion": read.version}, "data": data});
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        // The answer is metadata alone.
        write(&step, self.api.patch_metadata(FABRIC_CONFIG_MAP, &parameters, &Patch::Merge(patch))).await
    }
}

/// The pins of the object; none where it holds none, or nothing that is understood.
pub(super) fn parse(object: &ConfigMap) -> Pins {
    let text = object.data.as_ref().and_then(|data| data.get(KEY));
    let read = text.map(|text| Pins::read(text)).transpose();
    read.unwrap_or_else(|error| {
        tracing::warn!("what ConfigMap {FABRIC_CONFIG_MAP} says of gangs is not understood: {error}");
        None
    })
    .unwrap_or_default()
}
