//! Which containers a profile is for, what they must be allowed, and containers that it brings.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::Schema;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;

#[cfg(feature = "schema")]
use super::schema::allow;
use super::{Capability, EnvName, EnvValue, HostPath, Image, PartName, ResourceName, ResourcePattern};
use crate::config::choice::choices;
use crate::config::fields::Fields;
use crate::config::section::{item, section};

section! {
    /// Which containers a profile is for: those that ask for an accelerator.
    pub struct Match {
        /// What counts as an accelerator, where it stands in the limits; `*` at the end fits any rest.
        pub gpu_resources: Vec<ResourcePattern> = vec![ResourcePattern::literal("nvidia.com/gpu")],
        /// What does not.
        pub exclude_resources: Vec<ResourcePattern> = vec![ResourcePattern::literal("nvidia.com/mig-*")],
        /// Only containers of these names; empty: of any name.
        pub container_names: Vec<PartName>,
        /// Whether init containers count.
        pub init_containers: InitContainers,
        /// The least number of accelerators that a container must ask for.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        pub min_gpus: u64 = 1,
        /// Resources of which some node must offer each.
        pub node_resource_required: Vec<ResourceName>,
    }
    check: Self::check
}

/// Whether init containers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum InitContainers {
    /// They do not.
    #[default]
    None,
    /// Native sidecars do, where `containerNames` names them.
    RestartableNamed,
}

section! {
    /// What the containers must be allowed.
    pub struct SecurityContext {
        /// Capabilities.
        pub capabilities: Capabilities,
        /// How memory for RDMA comes to be locked.
        pub memlock: MemoryLock,
        /// Whether the containers are privileged.
        pub privileged: bool,
    }
    check: Self::check
}

section! {
    /// Capabilities.
    pub struct Capabilities {
        /// Those to add.
        pub add: Vec<Capability>,
    }
}

/// How memory for RDMA comes to be locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum MemoryLock {
    /// By the capability `IPC_LOCK`, which has effect for root alone.
    #[default]
    IpcLock,
    /// The nodes set no limit: no capability is needed.
    NodeUnlimited,
}

item! {
    /// A container that serves the transport; it runs as a native sidecar.
    #[cfg_attr(feature = "schema", schemars(transform = allow_native))]
    pub struct Sidecar {
        /// Its name.
        pub name as "ref": PartName => "the container's name",
        /// Its image.
        pub image: Image => "the container's image",
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
    partial: |fields: &mut Fields<'_>| {
        if !fields.or("native", true) {
            fields.fault("native", "expected true: a plain container keeps its job alive for ever".to_owned());
        }
    },
}

#[cfg(feature = "schema")]
fn allow_native(schema: &mut Schema) {
    allow(schema, "native", &json!(true), "A plain container would keep its job alive for ever.");
}

impl Match {
    fn check(&self, fields: &mut Fields<'_>) {
        if self.gpu_resources.is_empty() {
            // Without it every container of a pod would be given devices, the proxy among them.
            fields.fault("gpuResources", "empty: expected a resource such as nvidia.com/gpu".to_owned());
        }
        if self.init_containers == InitContainers::RestartableNamed && self.container_names.is_empty() {
            fields.fault("initContainers", "restartableNamed: expected containerNames beside it".to_owned());
        }
        if self.min_gpus == 0 {
            fields.fault("minGpus", "expected a number from 1, found 0".to_owned());
        }
    }
}

impl SecurityContext {
    fn check(&self, fields: &mut Fields<'_>) {
        let locks = self.capabilities.add.iter().any(|capability| capability.as_str() == "IPC_LOCK");
        if locks && self.memlock == MemoryLock::NodeUnlimited {
            fields.fault("memlock", "nodeUnlimited beside IPC_LOCK: expected one of both".to_owned());
        }
    }
}

choices!(InitContainers, MemoryLock);
