//! `ComputeDomain` of NVIDIA's DRA driver: the nodes that share an IMEX domain for `NVLink` between nodes.

use serde_json::Value;

use crate::manifest::{Document, ObjectField};

/// A `ComputeDomain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputeDomain {
    /// Name of the object.
    pub name: String,
    /// Number of nodes that the domain waits for; 0 if it does not wait.
    pub nodes: u64,
    /// Name of the `ResourceClaimTemplate` of its channels.
    pub template: String,
    /// Its field with the number of nodes; `None` if the object is not in the input.
    pub field: Option<ObjectField>,
}

/// API group of the kind.
pub const GROUP: &str = "resource.nvidia.com";

impl ComputeDomain {
    /// Parses the object, or returns `None` if it is incomplete.
    #[must_use]
    pub fn parse(object: &Value) -> Option<Self> {
        let template = object.pointer("/spec/channel/resourceClaimTemplate/name")?.as_str()?.to_owned();
        let nodes = object.pointer("/spec/numNodes").and_then(Value::as_u64).unwrap_or_default();
        let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
        Some(Self { name, nodes, template, field: None })
    }

    /// Parses the object in `document`.
    #[must_use]
    pub fn of(document: &Document) -> Option<Self> {
        let field = Some(ObjectField::of(document, "/spec/numNodes"));
        Self::parse(&document.value).map(|domain| Self { field, ..domain })
    }
}
