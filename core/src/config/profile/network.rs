//! Networks to attach, and what goes through Envoy.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::allow;
use super::{InterfaceName, MetadataKey, NetworkName, ObjectName};
use crate::config::Scalar;
use crate::config::choice::{self, choices};
use crate::config::fields::Fields;
use crate::config::section::{item, section};
use crate::yaml::noun;

section! {
    /// Networks to attach.
    pub struct Networks {
        /// By Multus.
        pub multus: Multus,
        /// By the multi-networking of GKE.
        pub gke: Gke,
    }
}

section! {
    /// Networks that Multus attaches.
    #[cfg_attr(feature = "schema", schemars(transform = allow_merge))]
    pub struct Multus {
        /// The annotation that Multus reads.
        pub annotation_key: MetadataKey = MetadataKey::literal(MULTUS_ANNOTATION),
        /// What is appended to it.
        pub attach: Vec<Attach>,
    }
    check: Self::check
}

item! {
    /// One network.
    pub struct Attach {
        /// Its `NetworkAttachmentDefinition`.
        pub name: NetworkName => "the network's name",
        /// How often it is attached.
        #[serde(default)]
        pub count: AttachCount,
        /// The name of the interface in the pod; absent: Multus counts `net1`, `net2`, ….
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub if_name: Option<InterfaceName>,
    }
    partial: |fields: &mut Fields<'_>| {
        if if_name.is_some() && count != AttachCount::Times(1) {
            fields.fault("ifName", "one name for several interfaces: expected count: 1".to_owned());
        }
    },
}

/// How often a network is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachCount {
    /// So often.
    Times(u64),
    /// Once for each device of the profile's first resource.
    PerResource,
}

section! {
    /// Interfaces of GKE's multi-networking.
    pub struct Gke {
        /// The interface of the default route; null: the annotation is not written.
        #[cfg_attr(feature = "schema", schemars(with = "InterfaceName"))]
        pub default_interface: Option<InterfaceName>,
        /// The interfaces.
        pub interfaces: Vec<GkeInterface>,
    }
}

item! {
    /// One interface.
    pub struct GkeInterface {
        /// Its name in the pod.
        pub interface_name: InterfaceName => "the interface's name in the pod",
        /// The Network object.
        pub network: ObjectName => "the Network object's name",
    }
}

section! {
    /// What of the pod's traffic goes through Envoy.
    pub struct MeshSwitch {
        /// What is switched off. The label `trainmesh.dev/mesh-traffic` beats this value.
        pub istio: Istio,
        /// The interfaces that `excludeInterfaces` keeps out of Envoy.
        pub interfaces: Vec<InterfaceName>,
    }
    check: Self::check
}

/// What is switched off of the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Istio {
    /// Nothing.
    #[default]
    None,
    /// Capture on some interfaces: where NCCL's traffic does not use `eth0`.
    ExcludeInterfaces,
    /// All capture.
    DisableCapture,
    /// The proxy.
    DisableInjection,
}

/// The annotation that Multus reads where nobody told it otherwise.
const MULTUS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";
/// More of one network no node has adapters for.
const MOST_TIMES: u64 = 64;

#[cfg(feature = "schema")]
fn allow_merge(schema: &mut Schema) {
    allow(schema, "merge", &json!("append"), "A user's own networks come first.");
}

impl Default for AttachCount {
    fn default() -> Self {
        Self::Times(1)
    }
}

impl Multus {
    /// A field that may stand there although there is one answer only.
    fn check(_: &Self, fields: &mut Fields<'_>) {
        let _: Append = fields.or("merge", Append::Append);
    }
}

/// How a user's own networks are treated: ours come after them. There is no other way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Append {
    Append,
}

impl MeshSwitch {
    fn check(&self, fields: &mut Fields<'_>) {
        match (self.istio, self.interfaces.is_empty()) {
            (Istio::ExcludeInterfaces, true) => {
                fields.fault("interfaces", "missing: expected the interfaces to exclude".to_owned());
            }
            (Istio::None | Istio::DisableCapture | Istio::DisableInjection, false) => {
                fields.fault("interfaces", "expected istio: excludeInterfaces beside it".to_owned());
            }
            _ => {}
        }
    }
}

impl Scalar for Istio {
    fn read(value: &Value) -> Result<Self, String> {
        // A bare `off`, which YAML reads as a boolean, is what a person means by `none`.
        if *value == Value::Bool(false) { Ok(Self::None) } else { choice::read(value) }
    }
}

impl Scalar for AttachCount {
    fn read(value: &Value) -> Result<Self, String> {
        let expected = "expected a number from 1 to 64, or perResource";
        match value {
            Value::String(text) if text == "perResource" => Ok(Self::PerResource),
            Value::String(text) => Err(format!("{expected}, found {text:?}")),
            Value::Number(number) => match number.as_u64() {
                Some(times @ 1..=MOST_TIMES) => Ok(Self::Times(times)),
                _ => Err(format!("{expected}, found {number}")),
            },
            other => Err(format!("{expected}, found {}", noun(other))),
        }
    }
}

impl Serialize for AttachCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Times(times) => serializer.serialize_u64(*times),
            Self::PerResource => serializer.serialize_str("perResource"),
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for AttachCount {
    fn schema_name() -> Cow<'static, str> {
        "AttachCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_TIMES}, {"const": "perResource"}]})
    }
}

choices!(Append);
