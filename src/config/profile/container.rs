//! Which containers a profile is for, what they must be allowed, and containers that it brings.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::schema::allow;
use super::{Capability, EnvName, EnvValue, HostPath, Image, PartName, ResourceName, ResourcePattern};
use crate::config::choice;
use crate::config::fields::{Fields, Scalar, Section};
use crate::yaml::Content;

/// Which containers a profile is for: those that ask for an accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Match {
    /// What counts as an accelerator, where it stands in the limits; `*` at the end fits any rest.
    pub gpu_resources: Vec<ResourcePattern>,
    /// What does not.
    pub exclude_resources: Vec<ResourcePattern>,
    /// Only containers of these names; empty: of any name.
    pub container_names: Vec<PartName>,
    /// Whether init containers count.
    pub init_containers: InitContainers,
    /// The least number of accelerators that a container must ask for.
    #[schemars(range(min = 1))]
    pub min_gpus: u64,
    /// Resources of which some node must offer each.
    pub node_resource_required: Vec<ResourceName>,
}

/// Whether init containers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InitContainers {
    /// They do not.
    #[default]
    None,
    /// Native sidecars do, where `containerNames` names them.
    RestartableNamed,
}

/// What the containers must be allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecurityContext {
    /// Capabilities.
    pub capabilities: Capabilities,
    /// How memory for RDMA comes to be locked.
    pub memlock: MemoryLock,
    /// Whether the containers are privileged.
    pub privileged: bool,
}

/// Capabilities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Capabilities {
    /// Those to add.
    pub add: Vec<Capability>,
}

/// How memory for RDMA comes to be locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemoryLock {
    /// By the capability `IPC_LOCK`, which has effect for root alone.
    #[default]
    IpcLock,
    /// The nodes set no limit: no capability is needed.
    NodeUnlimited,
}

/// A container that serves the transport; it runs as a native sidecar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = allow_native)]
pub struct Sidecar {
    /// Its name.
    #[serde(rename = "ref")]
    pub name: PartName,
    /// Its image.
    pub image: Image,
    /// Its command; empty: the image's.
    #[serde(default)]
    pub command: Vec<String>,
    /// Its arguments; empty: the image's.
    #[serde(default)]
    pub args: Vec<String>,
    /// Capabilities to add to it.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// Its environment.
    #[serde(default)]
    pub env: BTreeMap<EnvName, EnvValue>,
    /// Paths of the node that are mounted into it.
    #[serde(default)]
    pub host_paths: Vec<HostPath>,
}

fn allow_native(schema: &mut Schema) {
    allow(schema, "native", &json!(true), "A plain container would keep its job alive for ever.");
}

impl Default for Match {
    fn default() -> Self {
        Self {
            gpu_resources: vec![ResourcePattern::literal("nvidia.com/gpu")],
            exclude_resources: vec![ResourcePattern::literal("nvidia.com/mig-*")],
            container_names: Vec::new(),
            init_containers: InitContainers::None,
            min_gpus: 1,
            node_resource_required: Vec::new(),
        }
    }
}

impl Section for Match {
    fn read(fields: &mut Fields<'_>) -> Self {
        let default = Self::default();
        let read = Self {
            gpu_resources: fields.scalar("gpuResources", default.gpu_resources),
            exclude_resources: fields.scalar("excludeResources", default.exclude_resources),
            container_names: fields.scalar("containerNames", Vec::new()),
            init_containers: fields.scalar("initContainers", InitContainers::None),
            min_gpus: fields.scalar("minGpus", default.min_gpus),
            node_resource_required: fields.scalar("nodeResourceRequired", Vec::new()),
        };
        if read.gpu_resources.is_empty() {
            // Without it every container of a pod would be given devices, the proxy among them.
            fields.fault("gpuResources", "empty: expected a resource such as nvidia.com/gpu".to_owned());
        }
        if read.init_containers == InitContainers::RestartableNamed && read.container_names.is_empty() {
            fields.fault("initContainers", "restartableNamed: expected containerNames beside it".to_owned());
        }
        if read.min_gpus == 0 {
            fields.fault("minGpus", "expected a number from 1, found 0".to_owned());
        }
        read
    }
}

impl Section for SecurityContext {
    fn read(fields: &mut Fields<'_>) -> Self {
        let read = Self {
            capabilities: fields.section("capabilities"),
            memlock: fields.scalar("memlock", MemoryLock::IpcLock),
            privileged: fields.scalar("privileged", false),
        };
        let locks = read.capabilities.add.iter().any(|capability| capability.as_str() == "IPC_LOCK");
        if locks && read.memlock == MemoryLock::NodeUnlimited {
            fields.fault("memlock", "nodeUnlimited beside IPC_LOCK: expected one of both".to_owned());
        }
        read
    }
}

impl Section for Capabilities {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self { add: fields.scalar("add", Vec::new()) }
    }
}

impl Sidecar {
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("ref", "the container's name");
        let image = fields.required("image", "the container's image");
        let command = fields.scalar("command", Vec::new());
        let args = fields.scalar("args", Vec::new());
        let capabilities = fields.scalar("capabilities", Vec::new());
        let env = fields.scalar("env", BTreeMap::new());
        let host_paths = fields.list("hostPaths", HostPath::read);
        if !fields.scalar("native", true) {
            fields.fault("native", "expected true: a plain container keeps its job alive for ever".to_owned());
        }
        Some(Self { name: name?, image: image?, command, args, capabilities, env, host_paths })
    }
}

impl Scalar for InitContainers {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}

impl Scalar for MemoryLock {
    fn read(content: &Content) -> Result<Self, String> {
        choice::read(content)
    }
}
