//! Networks to attach, and what goes through Envoy.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::schema::allow;
use super::{InterfaceName, MetadataKey, NetworkName, ObjectName};
use crate::config::choice;
use crate::config::fields::{Fields, Scalar, Section};
use crate::yaml::Content;

/// Networks to attach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Networks {
    /// By Multus.
    pub multus: Multus,
    /// By the multi-networking of GKE.
    pub gke: Gke,
}

/// Networks that Multus attaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(transform = allow_merge)]
pub struct Multus {
    /// The annotation that Multus reads.
    pub annotation_key: MetadataKey,
    /// What is appended to it.
    pub attach: Vec<Attach>,
}

/// One network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attach {
    /// Its `NetworkAttachmentDefinition`.
    pub name: NetworkName,
    /// How often it is attached.
    #[serde(default)]
    pub count: AttachCount,
    /// The name of the interface in the pod; absent: Multus counts `net1`, `net2`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_name: Option<InterfaceName>,
}

/// How often a network is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachCount {
    /// So often.
    Times(u64),
    /// Once for each device of the profile's first resource.
    PerResource,
}

/// Interfaces of GKE's multi-networking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Gke {
    /// The interface of the default route; null: the annotation is not written.
    #[schemars(with = "InterfaceName")]
    pub default_interface: Option<InterfaceName>,
    /// The interfaces.
    pub interfaces: Vec<GkeInterface>,
}

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GkeInterface {
    /// Its name in the pod.
    pub interface_name: InterfaceName,
    /// The Network object.
    pub network: ObjectName,
}

/// What of the pod's traffic goes through Envoy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MeshSwitch {
    /// What is switched off. The label `trainmesh.dev/mesh-traffic` beats this value.
    pub istio: Istio,
    /// The interfaces that `excludeInterfaces` keeps out of Envoy.
    pub interfaces: Vec<InterfaceName>,
}

/// What is switched off of the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

fn allow_merge(schema: &mut Schema) {
    allow(schema, "merge", &json!("append"), "A user's own networks come first.");
}

impl Default for Multus {
    fn default() -> Self {
        Self { annotation_key: MetadataKey::literal(MULTUS_ANNOTATION), attach: Vec::new() }
    }
}

impl Default for AttachCount {
    fn default() -> Self {
        Self::Times(1)
    }
}

impl Section for Networks {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self { multus: fields.section("multus"), gke: fields.section("gke") }
    }
}

impl Section for Multus {
    fn read(fields: &mut Fields<'_>) -> Self {
        let annotation_key = fields.scalar("annotationKey", Self::default().annotation_key);
        let attach = fields.list("attach", Attach::read);
        let _: Append = fields.scalar("merge", Append::Append);
        Self { annotation_key, attach }
    }
}

/// How a user's own networks are treated: ours come after them. There is no other way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Append {
    Append,
}

impl Attach {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", "the network's name");
        let count = fields.scalar("count", AttachCount::default());
        let if_name = fields.scalar("ifName", None);
        if if_name.is_some() && count != AttachCount::Times(1) {
            fields.fault("ifName", "one name for several interfaces: expected count: 1".to_owned());
        }
        Some(Self { name: name?, count, if_name })
    }
}

impl Section for Gke {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            default_interface: fields.scalar("defaultInterface", None),
            interfaces: fields.list("interfaces", |fields| {
                let interface_name = fields.required("interfaceName", "the interface's name in the pod");
                let network = fields.required("network", "the Network object's name");
                Some(GkeInterface { interface_name: interface_name?, network: network? })
            }),
        }
    }
}

impl Section for MeshSwitch {
    fn read(fields: &mut Fields<'_>) -> Self {
        let istio = fields.scalar("istio", Istio::None);
        let interfaces: Vec<InterfaceName> = fields.scalar("interfaces", Vec::new());
        match (istio, interfaces.is_empty()) {
            (Istio::ExcludeInterfaces, true) => {
                fields.fault("interfaces", "missing: expected the interfaces to exclude".to_owned());
            }
            (Istio::None | Istio::DisableCapture | Istio::DisableInjection, false) => {
                fields.fault("interfaces", "expected istio: excludeInterfaces beside it".to_owned());
            }
            _ => {}
        }
        Self { istio, interfaces }
    }
}

impl Scalar for Istio {
    fn read(content: &Content) -> Result<Self, String> {
        // A bare `off`, which YAML reads as a boolean, is what a person means by `none`.
        if *content == Content::Bool(false) { Ok(Self::None) } else { choice::read(content) }
    }
}

impl Scalar for Append {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for AttachCount {
    fn read(content: &Content) -> Result<Self, String> {
        let expected = "expected a number from 1 to 64, or perResource";
        match content {
            Content::String(text) if text == "perResource" => Ok(Self::PerResource),
            Content::String(text) => Err(format!("{expected}, found {text:?}")),
            Content::Number(number) => match number.as_u64() {
                Some(times @ 1..=MOST_TIMES) => Ok(Self::Times(times)),
                _ => Err(format!("{expected}, found {number}")),
            },
            other => Err(format!("{expected}, found {}", other.noun())),
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

impl JsonSchema for AttachCount {
    fn schema_name() -> Cow<'static, str> {
        "AttachCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_TIMES}, {"const": "perResource"}]})
    }
}
