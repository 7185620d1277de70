//! An object of which only names, labels and a few status fields are decoded: a thousandth of what the apiserver sends
//! for a node.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use kube::Resource;
use kube::core::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::cluster::partial::served_as;

/// A `K` whose status is decoded as an `S`.
pub(super) struct PartialObject<K, S> {
    metadata: ObjectMeta,
    pub(super) status: S,
    kind: PhantomData<fn() -> K>,
}

/// Status of a node: its allocatable resources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeStatus {
    pub(super) allocatable: BTreeMap<String, Value>,
}

/// Status of a quota: its limits and the current usage.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct QuotaStatus {
    pub(super) hard: BTreeMap<String, Value>,
    pub(super) used: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Raw<S> {
    metadata: RawMeta,
    #[serde(default)]
    status: S,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

impl<'de, K, S: Deserialize<'de> + Default> Deserialize<'de> for PartialObject<K, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw { metadata: RawMeta { name, namespace, uid, resource_version, labels }, status } =
            Raw::deserialize(deserializer)?;
        let metadata = ObjectMeta { name, namespace, uid, resource_version, labels, ..ObjectMeta::default() };
        Ok(Self { metadata, status, kind: PhantomData })
    }
}

impl<K, S: Clone> Clone for PartialObject<K, S> {
    fn clone(&self) -> Self {
        Self { metadata: self.metadata.clone(), status: self.status.clone(), kind: PhantomData }
    }
}

impl<K, S: fmt::Debug> fmt::Debug for PartialObject<K, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PartialObject")
            .field("name", &self.metadata.name)
            .field("status", &self.status)
            .finish()
    }
}

served_as!(PartialObject<K, S>, K, [K: Resource<DynamicType = ()>, S]);
