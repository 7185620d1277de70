//! The `ConfigMap` with the pins of running gangs, written by the leading controller and watched by every webhook
//! replica.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::super::client::FIELD_MANAGER;
use super::super::request::{RequestError, find, write};
use trainmesh_core::gang::pins::Pins;
use trainmesh_core::objects::{FABRIC_CONFIG_MAP, WriteOutcome};

/// Key of the pins.
const KEY: &str = "pins.json";

/// The `ConfigMap` of one namespace.
pub struct PinStore {
    api: Api<ConfigMap>,
    namespace: String,
}

/// The pins as of one resourceVersion.
#[derive(Clone, Debug)]
pub struct StoredPins {
    resource_version: String,
    /// Content of the object.
    pub pins: Pins,
}

impl PinStore {
    /// Creates a store in `namespace`.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), namespace: namespace.to_owned() }
    }

    /// Reads the pins; `None` if the `ConfigMap` does not exist.
    pub async fn read(&self) -> Result<Option<StoredPins>, RequestError> {
        let step = format!("read ConfigMap {}/{FABRIC_CONFIG_MAP}", self.namespace);
        let Some(object) = find(&step, self.api.get(FABRIC_CONFIG_MAP)).await? else { return Ok(None) };
        let pins = parse(&object);
        Ok(Some(StoredPins { resource_version: object.metadata.resource_version.unwrap_or_default(), pins }))
    }

    /// Writes `pins`, unless the object has changed since `read`.
    pub async fn write(&self, read: &StoredPins, pins: &Pins) -> Result<WriteOutcome, RequestError> {
        let step = format!("write ConfigMap {}/{FABRIC_CONFIG_MAP}", self.namespace);
        let data = BTreeMap::from([(KEY, pins.to_json())]);
        let patch = json!({"metadata": {"resourceVersion": read.resource_version}, "data": data});
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        // The response contains metadata alone.
        write(&step, self.api.patch_metadata(FABRIC_CONFIG_MAP, &parameters, &Patch::Merge(patch))).await
    }
}

/// Parses the pins of the object. Missing or malformed data yields no pins.
pub(super) fn parse(object: &ConfigMap) -> Pins {
    let text = object.data.as_ref().and_then(|data| data.get(KEY));
    let read = text.map(|text| Pins::from_json(text)).transpose();
    read.unwrap_or_else(|error| {
        tracing::warn!("ConfigMap {FABRIC_CONFIG_MAP} contains invalid pins: {error}");
        None
    })
    .unwrap_or_default()
}
