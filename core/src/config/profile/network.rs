//! Networks to attach, and traffic that bypasses Envoy.

#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::add_constant;
use super::{InterfaceName, MetadataKey, NetworkName, ObjectName};
use crate::config::Scalar;
use crate::config::choice::{self, choices};
use crate::config::fields::Fields;
use crate::config::section::{item, section};
use crate::yaml::type_name;

section! {
    /// Networks to attach.
    pub struct Networks {
        /// Networks that Multus attaches.
        pub multus: Multus,
        /// Interfaces of GKE multi-networking.
        pub gke: Gke,
    }
}

section! {
    /// Networks that Multus attaches.
    #[cfg_attr(feature = "schema", schemars(transform = add_merge))]
    pub struct Multus {
        /// Annotation that Multus reads.
        pub annotation_key: MetadataKey = MetadataKey::literal(MULTUS_ANNOTATION),
        /// Networks to append to the annotation.
        pub attach: Vec<NetworkAttachment>,
    }
    check: Self::check
}

item! {
    /// A network to attach.
    pub struct NetworkAttachment {
        /// Name of the `NetworkAttachmentDefinition`.
        pub name: NetworkName => "the network's name",
        /// Number of attachments.
        #[serde(default)]
        pub count: AttachCount,
        /// Name of the interface in the pod; absent: Multus assigns `net1`, `net2`, ….
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub if_name: Option<InterfaceName>,
    }
    partial: |fields: &mut Fields<'_>| {
        if if_name.is_some() && count != AttachCount::Times(1) {
            fields.report_problem("ifName", "expected count: 1: several interfaces cannot have the same name".to_owned());
        }
    },
}

/// Number of attachments of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachCount {
    /// A fixed number.
    Times(u64),
    /// One for each device of the profile's first resource.
    PerResource,
}

section! {
    /// Interfaces of GKE multi-networking.
    pub struct Gke {
        /// Interface of the default route; null: the annotation is not set.
        #[cfg_attr(feature = "schema", schemars(with = "InterfaceName"))]
        pub default_interface: Option<InterfaceName>,
        /// Interfaces of the pod.
        pub interfaces: Vec<GkeInterface>,
    }
    check: Self::check
}

item! {
    /// An interface of the pod.
    pub struct GkeInterface {
        /// Name in the pod.
        pub interface_name: InterfaceName => "the interface's name in the pod",
        /// Name of the Network object.
        pub network: ObjectName => "the Network object's name",
    }
}

section! {
    /// Traffic that bypasses Envoy.
    pub struct MeshBypass {
        /// Mesh features to disable. The label `trainmesh.dev/mesh-traffic` takes precedence.
        pub istio: IstioBypass,
        /// Interfaces whose traffic Envoy does not capture. Requires `istio: excludeInterfaces`.
        pub interfaces: Vec<InterfaceName>,
    }
    check: Self::check
}

/// Mesh features that a profile disables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum IstioBypass {
    /// Nothing.
    #[default]
    None,
    /// Traffic capture on some interfaces, if NCCL does not use `eth0`.
    ExcludeInterfaces,
    /// All traffic capture.
    DisableCapture,
    /// Proxy injection.
    DisableInjection,
}

/// Default annotation of Multus.
const MULTUS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";
/// Maximum number of attachments of one network. No node has more adapters.
const MAX_ATTACHMENTS: u64 = 64;

#[cfg(feature = "schema")]
fn add_merge(schema: &mut Schema) {
    add_constant(schema, "merge", &json!("append"), "The user's own networks come first.");
}

impl Default for AttachCount {
    fn default() -> Self {
        Self::Times(1)
    }
}

impl Multus {
    /// Accepts the field `merge`, which has a single valid value.
    fn check(_: &Self, fields: &mut Fields<'_>) {
        let _: MergeStrategy = fields.get_or("merge", MergeStrategy::Append);
    }
}

/// Only merge strategy: the profile's networks follow those of the user.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MergeStrategy {
    Append,
}

impl Gke {
    /// Reports a default interface that is not in the list, with which GKE fails to create the pod.
    fn check(&self, fields: &mut Fields<'_>) {
        let Some(default) = &self.default_interface else { return };
        // Without a list, the pod may have interfaces of its own.
        let is_interface =
            self.interfaces.is_empty() || self.interfaces.iter().any(|interface| interface.interface_name == *default);
        if !is_interface && !fields.has_problem("interfaces") {
            let message = format!("{default} is not in interfaces: expected the interface of the default route");
            fields.report_problem("defaultInterface", message);
        }
    }
}

impl MeshBypass {
    fn check(&self, fields: &mut Fields<'_>) {
        if fields.has_problem("istio") || fields.has_problem("interfaces") {
            return;
        }
        match (self.istio, self.interfaces.is_empty()) {
            (IstioBypass::ExcludeInterfaces, true) => {
                fields.report_problem("interfaces", "missing: expected the interfaces to exclude".to_owned());
            }
            (IstioBypass::None | IstioBypass::DisableCapture | IstioBypass::DisableInjection, false) => {
                fields.report_problem("interfaces", "requires istio: excludeInterfaces".to_owned());
            }
            _ => {}
        }
    }
}

impl Scalar for IstioBypass {
    fn read(value: &Value) -> Result<Self, String> {
        // YAML reads an unquoted `off` as a boolean. Treat it as `none`.
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
                Some(times @ 1..=MAX_ATTACHMENTS) => Ok(Self::Times(times)),
                _ => Err(format!("{expected}, found {number}")),
            },
            other => Err(format!("{expected}, found {}", type_name(other))),
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
        json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_ATTACHMENTS}, {"const": "perResource"}]})
    }
}

choices!(MergeStrategy);
