//! A fabric profile: what a pod needs to use the network between GPUs at one site.
//!
//! A type here is also its form in the configuration. What a profile cannot say is absent on purpose: to override what a
//! user wrote, and to deny a pod.

mod container;
mod namespaces;
mod network;
mod placement;
mod ratio;
mod resource;
#[cfg(feature = "schema")]
mod schema;
mod setting;
mod text;
mod volume;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use container::{Capabilities, InitContainers, Match, MemoryLock, SecurityContext, Sidecar};
pub use namespaces::{NamespaceSelector, Namespaces, Requirement, SelectorOperator};
pub use network::{Attach, AttachCount, Gke, GkeInterface, Istio, MeshSwitch, Multus, Networks};
pub use placement::{
    Claim, DnsPolicy, Dra, Effect, FailClosed, Guard, Guards, OnConflict, Operator, PodSettings, Spread, Toleration,
};
pub use ratio::{Ratio, Ratios};
pub use resource::{Amount, Resource, ResourceMode};
pub use setting::{Condition, Delivery, GpuCount, NcclDelivery, Setting, Via};
pub use text::{
    AbsolutePath, Capability, EnvName, EnvValue, Image, InterfaceName, LabelValue, MetadataKey, NamespaceName,
    NetworkName, ObjectName, PartName, ProfileName, Quantity, ResourceName, ResourcePattern,
};
pub use volume::{ConfigMapVolume, HostPath, HostPathType, Medium, SharedMemory, Volumes};

use super::LintSettings;
use super::choice::choices;
use super::fields::Fields;
use super::section::item;
use crate::fabric::nccl;

item! {
    /// What a pod needs to use the network between GPUs at one site.
    pub struct Profile {
        /// Its name, the value of the label `trainmesh.dev/fabric`.
        pub name: ProfileName => "the profile's name",
        /// What it is for, in a sentence.
        #[serde(default)]
        pub description: String,
        /// How NCCL moves data.
        pub transport: Transport => "ib, roce, efa, tcpx, tcpxo, gib or tcp",
        /// The link layer of the adapters.
        #[serde(default)]
        pub link_layer: LinkLayer,
        /// Which containers it is for.
        #[serde(default)]
        pub matches as "match": Match,
        /// How the settings reach the processes.
        #[serde(default)]
        pub delivery: Delivery,
        /// Settings of NCCL and its companions, in order.
        #[serde(default)]
        pub env: Vec<Setting>,
        /// Devices and huge pages to ask for.
        #[serde(default)]
        pub resources: Vec<Resource>,
        /// Networks to attach.
        #[serde(default)]
        pub networks: Networks,
        /// Devices by dynamic resource allocation.
        #[serde(default)]
        pub dra: Dra,
        /// What the containers must be allowed.
        #[serde(default)]
        pub security_context: SecurityContext,
        /// What is mounted.
        #[serde(default)]
        pub volumes: Volumes,
        /// Settings of the pod as a whole.
        #[serde(default)]
        pub pod: PodSettings,
        /// Containers that serve the transport; they run as native sidecars.
        #[serde(default)]
        pub sidecars: Vec<Sidecar>,
        /// What of the pod's traffic goes through Envoy.
        #[serde(default)]
        pub mesh: MeshSwitch,
        /// Settings that turn a silent fallback to TCP into an error.
        #[serde(default)]
        pub fail_closed: FailClosed,
        /// What is looked at before a pod is changed.
        #[serde(default)]
        pub guards: Guards,
        /// What happens where the pod contradicts the profile, or a guard says no.
        #[serde(default)]
        pub on_conflict: OnConflict,
        /// Which checks of the lint are switched off or weighed otherwise for its pods.
        #[serde(default)]
        pub lint: LintSettings,
        /// Which namespaces may use it; null: every one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Namespaces"))]
        pub namespaces: Option<Namespaces>,
    }
    check: Self::check
}

/// How NCCL moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// RDMA over InfiniBand.
    Ib,
    /// RDMA over Converged Ethernet.
    Roce,
    /// Elastic Fabric Adapter of AWS.
    Efa,
    /// GPUDirect-TCPX of Google.
    Tcpx,
    /// GPUDirect-TCPXO of Google.
    Tcpxo,
    /// GPUDirect RDMA of Google, by its plugin gIB.
    Gib,
    /// Plain TCP.
    Tcp,
}

/// The link layer of the adapters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LinkLayer {
    /// InfiniBand.
    Infiniband,
    /// Ethernet.
    Ethernet,
    /// None that matters.
    #[default]
    None,
}

impl Profile {
    /// Whether its transport is RDMA: such a pod must be given devices, and must not be told to use TCP.
    #[must_use]
    pub fn is_rdma(&self) -> bool {
        matches!(self.transport, Transport::Ib | Transport::Roce | Transport::Efa | Transport::Gib)
    }

    /// Whether pods of `namespace`, which carries `labels`, may use it.
    #[must_use]
    pub fn allows(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.allow(namespace, labels))
    }

    /// What no single field can tell.
    fn check(&self, fields: &mut Fields<'_>) {
        if let Some(twice) = repeated(self.env.iter().map(|setting| &setting.name)) {
            fields.fault("env", format!("{twice} is set twice: expected one entry for each name"));
        }
        if let Some(twice) = repeated(self.resources.iter().map(|resource| &resource.name)) {
            fields.fault("resources", format!("{twice} is asked for twice: expected one entry for each name"));
        }
        if let Some(twice) = repeated(self.sidecars.iter().map(|sidecar| &sidecar.name)) {
            fields.fault("sidecars", format!("{twice} is declared twice: the names differ"));
        }
        let mounts = self.volumes.host_paths.iter().map(|path| &path.mount_path);
        let mounts = mounts.chain(self.volumes.config_maps.iter().map(|map| &map.mount_path));
        let mounts = mounts.chain(self.volumes.shm.iter().map(|shm| &shm.mount));
        if let Some(twice) = repeated(mounts.map(|path| path.as_str().trim_end_matches('/'))) {
            fields.fault("volumes", format!("{twice} is mounted twice: the paths differ"));
        }
        if self.pod.pod_anti_affinity.is_some() && self.pod.labels.is_empty() {
            fields.fault("pod", "podAntiAffinity, but no labels: expected one by which its pods are known".to_owned());
        }
        if self.namespaces.as_ref().is_some_and(Namespaces::is_empty) {
            let problem = "names nothing and selects nothing: expected names, a selector, or both";
            fields.fault("namespaces", problem.to_owned());
        }
        if let Some(problem) = nccl::together(|name| self.value(name)) {
            fields.fault("env", problem);
        }
        let counted = self.resources.iter().any(|resource| matches!(resource.amount, Amount::Devices { .. }));
        let per_resource = self.networks.multus.attach.iter().any(|attach| attach.count == AttachCount::PerResource);
        if per_resource && !counted {
            fields.fault("networks", "count: perResource, but there is no resource to count".to_owned());
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|setting| setting.name.as_str() == name).map(|setting| setting.value.as_str())
    }
}

/// The first item that stands twice.
fn repeated<T: PartialEq>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for item in items {
        if seen.contains(&item) {
            return Some(item);
        }
        seen.push(item);
    }
    None
}

impl fmt::Display for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

choices!(Transport, LinkLayer);
