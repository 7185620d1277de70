//! The `ConfigMap` with the profile revisions and modes of running gangs, written by the leading controller and watched by every webhook
//! replica.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::super::client::FIELD_MANAGER;
use super::super::request::{RequestError, find, write};
use trainmesh_core::gang::mode_pins::ModePins;
use trainmesh_core::gang::pins::Pins;
use trainmesh_core::objects::{FABRIC_CONFIG_MAP, WriteOutcome};

/// Key of the profile revisions.
const REVISIONS: &str = "pins.json";
/// Key of the gang modes. Versions that do not read it leave it unchanged.
const MODES: &str = "gang-modes.json";

/// The `ConfigMap` of one namespace.
pub struct PinStore {
    api: Api<ConfigMap>,
    namespace: String,
}

/// The pins as of one resourceVersion.
#[derive(Clone, Debug)]
pub struct StoredPins {
    resource_version: String,
    /// Profile revisions of the object.
    pub pins: Pins,
    /// Gang modes of the object.
    pub modes: ModePins,
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
        let (pins, modes) = parse(&object);
        Ok(Some(StoredPins { resource_version: object.metadata.resource_version.unwrap_or_default(), pins, modes }))
    }

    /// Writes `pins` and `modes`, unless the object has changed since `read`.
    pub async fn write(&self, read: &StoredPins, pins: &Pins, modes: &ModePins) -> Result<WriteOutcome, RequestError> {
        let step = format!("write ConfigMap {}/{FABRIC_CONFIG_MAP}", self.namespace);
        let data = BTreeMap::from([(REVISIONS, pins.to_json()), (MODES, modes.to_json())]);
        let patch = json!({"metadata": {"resourceVersion": read.resource_version}, "data": data});
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        // The response contains metadata alone.
        write(&step, self.api.patch_metadata(FABRIC_CONFIG_MAP, &parameters, &Patch::Merge(patch))).await
    }
}

/// Parses the pins of the object. Missing or malformed data yields no pins.
pub(super) fn parse(object: &ConfigMap) -> (Pins, ModePins) {
    (parse_key(object, REVISIONS, Pins::from_json), parse_key(object, MODES, ModePins::from_json))
}

fn parse_key<T: Default>(object: &ConfigMap, key: &str, read: fn(&str) -> Result<T, serde_json::Error>) -> T {
    let text = object.data.as_ref().and_then(|data| data.get(key));
    let read = text.map(|text| read(text)).transpose();
    read.unwrap_or_else(|error| {
        tracing::warn!("ConfigMap {FABRIC_CONFIG_MAP} contains invalid {key}: {error}");
        None
    })
    .unwrap_or_default()
}
