//! Containers that a profile applies to, their security settings, and additional sidecars.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::Schema;
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::json;

use super::capability::report_misspelled;
use super::check::report_duplicate_mounts;
#[cfg(feature = "schema")]
use super::schema::add_constant;
use super::{Capability, DnsLabel, EnvName, EnvValue, HostPath, Image, MachinePattern, ResourceName, ResourcePattern};
use crate::config::choice::choices;
use crate::config::fields::Fields;
use crate::config::section::{item, section};

section! {
    /// Containers that a profile applies to: those that request an accelerator.
    pub struct Match {
        /// Resources in the limits that count as accelerators. A trailing `*` matches any suffix.
        pub gpu_resources: Vec<ResourcePattern> = vec![ResourcePattern::literal("nvidia.com/gpu")],
        /// Resources that do not count as accelerators.
        pub exclude_resources: Vec<ResourcePattern> = vec![ResourcePattern::literal("nvidia.com/mig-*")],
        /// Names of the containers; empty: all.
        pub container_names: Vec<DnsLabel>,
        /// Treatment of init containers.
        pub init_containers: InitContainers,
        /// Minimum number of accelerators that a container must request.
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        pub min_gpus: u64 = 1,
        /// Machines that the profile is for; empty: all. A pod that selects another machine is left unchanged. A family such
        /// as `p5` and a trailing `*` match several machines.
        pub machines: Vec<MachinePattern>,
        /// Resources that must each be available on some node.
        pub node_resource_required: Vec<ResourceName>,
    }
    check: Self::check
}

/// Treatment of init containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum InitContainers {
    /// Ignores init containers.
    #[default]
    None,
    /// Includes native sidecars that `containerNames` lists.
    RestartableNamed,
}

section! {
    /// Security settings of the containers.
    pub struct SecurityContext {
        /// Linux capabilities.
        pub capabilities: Capabilities,
        /// Method that allows RDMA to lock memory.
        pub memlock: MemoryLock,
        /// Makes the containers privileged.
        pub privileged: bool,
    }
    check: Self::check
}

section! {
    /// Linux capabilities.
    pub struct Capabilities {
        /// Capabilities to add.
        pub add: Vec<Capability>,
    }
    check: |capabilities: &Self, fields: &mut Fields<'_>| report_misspelled(&capabilities.add, "add", fields)
}

/// Method that allows RDMA to lock memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum MemoryLock {
    /// The capability `IPC_LOCK`, which takes effect for root only.
    #[default]
    IpcLock,
    /// The nodes set no limit, so no capability is needed.
    NodeUnlimited,
}

item! {
    /// A container that the transport needs. It runs as a native sidecar.
    #[cfg_attr(feature = "schema", schemars(transform = add_native))]
    pub struct Sidecar {
        /// Name of the container.
        pub name as "ref": DnsLabel => "the container's name",
        /// Container image.
        pub image: Image => "the container's image",
        /// Entrypoint; empty: that of the image.
        #[serde(default)]
        pub command: Vec<String>,
        /// Arguments; empty: those of the image.
        #[serde(default)]
        pub args: Vec<String>,
        /// Capabilities to add.
        #[serde(default)]
        pub capabilities: Vec<Capability>,
        /// Environment variables.
        #[serde(default)]
        pub env: BTreeMap<EnvName, EnvValue>,
        /// Host paths to mount.
        #[serde(default)]
        pub host_paths: Vec<HostPath>,
    }
    partial: |fields: &mut Fields<'_>| {
        report_misspelled(&capabilities, "capabilities", fields);
        report_duplicate_mounts(None, &["hostPaths"], fields);
        if let Some(name) = name.as_ref().filter(|name| ISTIO_CONTAINERS.contains(&name.as_str())) {
            fields.report_problem("ref", format!("{name} is a container of Istio: expected another name"));
        }
        if !fields.get_or("native", true) {
            fields.report_problem("native", "expected true: with a plain container the job would never complete".to_owned());
        }
    },
}

/// Containers that Istio's injector merges with those of the pod that have the same name.
const ISTIO_CONTAINERS: [&str; 3] = ["istio-proxy", "istio-init", "istio-validation"];

#[cfg(feature = "schema")]
fn add_native(schema: &mut Schema) {
    add_constant(schema, "native", &json!(true), "With a plain container the job would never complete.");
}

impl Match {
    /// Returns true if the profile is for `machine`.
    #[must_use]
    pub fn allows_machine(&self, machine: &str) -> bool {
        self.machines.is_empty() || self.machines.iter().any(|pattern| pattern.matches(machine))
    }

    /// Returns true if `resource` counts as an accelerator of the profile.
    #[must_use]
    pub fn is_accelerator(&self, resource: &str) -> bool {
        let fits = |patterns: &[ResourcePattern]| patterns.iter().any(|pattern| pattern.matches(resource));
        fits(&self.gpu_resources) && !fits(&self.exclude_resources)
    }

    fn check(&self, fields: &mut Fields<'_>) {
        if self.gpu_resources.is_empty() {
            // Otherwise all containers of a pod would get devices, including the proxy.
            fields.report_problem("gpuResources", "empty: expected a resource such as nvidia.com/gpu".to_owned());
        }
        if self.init_containers == InitContainers::RestartableNamed
            && self.container_names.is_empty()
            && !fields.has_problem("containerNames")
        {
            fields.report_problem("initContainers", "restartableNamed requires containerNames".to_owned());
        }
        if self.min_gpus == 0 {
            fields.report_problem("minGpus", "expected a number from 1, found 0".to_owned());
        }
    }
}

impl ResourcePattern {
    /// Returns true if the pattern matches `resource`.
    #[must_use]
    pub fn matches(&self, resource: &str) -> bool {
        match self.as_str().strip_suffix('*') {
            Some(prefix) => resource.starts_with(prefix),
            None => resource == self.as_str(),
        }
    }
}

impl SecurityContext {
    /// Returns true if it adds the capability `IPC_LOCK`.
    #[must_use]
    pub fn adds_ipc_lock(&self) -> bool {
        self.capabilities.add.iter().any(|capability| capability.as_str() == "IPC_LOCK")
    }

    fn check(&self, fields: &mut Fields<'_>) {
        if self.adds_ipc_lock() && self.memlock == MemoryLock::NodeUnlimited {
            fields.report_problem(
                "memlock",
                "expected either nodeUnlimited or the capability IPC_LOCK, found both".to_owned(),
            );
        }
    }
}

choices!(InitContainers, MemoryLock);
