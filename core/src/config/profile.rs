//! Fabric profiles: the settings that a pod needs to use the GPU network of a site.
//!
//! The types define both the values and their form in the configuration. Profiles intentionally cannot override user
//! settings or deny pods.

mod capability;
mod check;
mod container;
mod devices;
mod machine;
mod namespaces;
mod network;
mod placement;
mod ratio;
mod resource;
#[cfg(feature = "schema")]
mod schema;
mod setting;
mod text;
mod transport;
mod volume;

use std::collections::BTreeMap;

pub use container::{Capabilities, InitContainers, Match, MemoryLock, SecurityContext, Sidecar};
pub use namespaces::{NamespaceSelector, Namespaces, Requirement, SelectorOperator};
pub use network::{AttachCount, Gke, GkeInterface, IstioBypass, MeshBypass, Multus, NetworkAttachment, Networks};
pub use placement::{
    AntiAffinity, Claim, DnsPolicy, Dra, FailClosed, Guard, Guards, OnConflict, PodSettings, TaintEffect, Toleration,
    TolerationOperator,
};
pub use ratio::{Ratio, Ratios};
pub use resource::{Amount, Resource, ResourceMode};
pub use setting::{Condition, Delivery, DeliveryChannel, GpuCount, NcclDelivery, Setting};
pub use text::{
    AbsolutePath, Capability, DnsLabel, EnvName, EnvValue, Image, InterfaceName, LabelValue, MachinePattern,
    MetadataKey, NamespaceName, NetworkName, ObjectName, ProfileName, Quantity, ResourceName, ResourcePattern,
};
pub use transport::Transport;
pub use volume::{ConfigMapVolume, HostPath, HostPathType, SharedMemory, Volumes};

use self::check::Parts;
use super::LintSettings;
use super::fields::Fields;
use super::section::item;
use crate::fabric::nccl::{PLUGIN_INTERFACES, plain_interfaces};
use crate::keys;

item! {
    /// Settings that a pod needs to use the GPU network of a site.
    pub struct Profile {
        /// Name of the profile: the value of the label `trainmesh.dev/fabric`.
        pub name: ProfileName => "the profile's name",
        /// Short description.
        #[serde(default)]
        pub description: String,
        /// Transport that NCCL uses.
        pub transport: Transport => "ib, roce, efa, tcpx, tcpxo, gib or tcp",
        /// Containers that the profile applies to.
        #[serde(default)]
        pub matches as "match": Match,
        /// Delivery of the settings to the processes.
        #[serde(default)]
        pub delivery: Delivery,
        /// Environment variables of NCCL and related libraries, in order.
        #[serde(default)]
        pub env: Vec<Setting>,
        /// Devices and huge pages to request.
        #[serde(default)]
        pub resources: Vec<Resource>,
        /// Networks to attach.
        #[serde(default)]
        pub networks: Networks,
        /// Devices from dynamic resource allocation (DRA).
        #[serde(default)]
        pub dra: Dra,
        /// Security settings of the containers.
        #[serde(default)]
        pub security_context: SecurityContext,
        /// Volumes to mount.
        #[serde(default)]
        pub volumes: Volumes,
        /// Pod-level settings.
        #[serde(default)]
        pub pod: PodSettings,
        /// Containers that the transport needs. They run as native sidecars.
        #[serde(default)]
        pub sidecars: Vec<Sidecar>,
        /// Traffic that bypasses Envoy.
        #[serde(default)]
        pub mesh: MeshBypass,
        /// Settings that turn a silent fallback to TCP into an error.
        #[serde(default)]
        pub fail_closed: FailClosed,
        /// Checks before a pod is changed.
        #[serde(default)]
        pub guards: Guards,
        /// Action if the pod conflicts with the profile, or a guard fails.
        #[serde(default)]
        pub on_conflict: OnConflict,
        /// Disabled lint checks and changed severities for pods with this profile.
        #[serde(default)]
        pub lint: LintSettings,
        /// Namespaces that may use the profile; null: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Namespaces"))]
        pub namespaces: Option<Namespaces>,
    }
    partial: |fields: &mut Fields<'_>| {
        let namespaces = namespaces.as_ref();
        let parts = Parts { transport, env: &env, resources: &resources, networks: &networks,
            volumes: &volumes, pod: &pod, fail_closed: &fail_closed, namespaces };
        parts.check(fields);
    },
}

/// Prefixes of the variables that NCCL, RCCL and the plugins of NCCL read: NCCL sets those in its configuration file before it loads
/// a plugin.
const READ_FROM_FILE: [&str; 4] = ["NCCL_", "RCCL_", "FI_", "OFI_"];

impl Profile {
    /// Returns true if the transport is RDMA: pods need devices, and their settings must not select TCP.
    #[must_use]
    pub fn is_rdma(&self) -> bool {
        matches!(self.transport, Transport::Ib | Transport::Roce | Transport::Efa | Transport::Gib)
    }

    /// Returns the machine that the profile's node selector selects without `match.machines`. The profile then also applies to pods
    /// that select another machine themselves.
    #[must_use]
    pub fn unlisted_machine(&self) -> Option<&str> {
        let selected = self.pod.node_selector.iter().find(|(key, _)| keys::MACHINES.contains(&key.as_str()));
        selected.filter(|_| self.matches.machines.is_empty()).map(|(_, machine)| machine.as_str())
    }

    /// Returns the settings of libraries that do not read NCCL's configuration file, but that the profile may deliver in it.
    pub fn undelivered_settings(&self) -> impl Iterator<Item = &str> {
        let is_read = |name: &str| READ_FROM_FILE.iter().any(|prefix| name.starts_with(prefix));
        let in_file = self.env.iter().filter(|setting| setting.via == DeliveryChannel::Conf && !setting.opt_in);
        in_file.map(|setting| setting.name.as_str()).filter(move |name| !is_read(name))
    }

    /// Returns the variables that the profile only suggests.
    pub fn suggested_settings(&self) -> impl Iterator<Item = &str> {
        self.env.iter().filter(|setting| setting.opt_in).map(|setting| setting.name.as_str())
    }

    /// Returns the interfaces that a setting for a plugin of GKE names, but that the profile does not attach, each with the variable.
    pub fn absent_interfaces(&self) -> impl Iterator<Item = (&str, &str)> {
        let attached = &self.networks.gke.interfaces;
        let settings = self.env.iter().filter(|setting| PLUGIN_INTERFACES.contains(&setting.name.as_str()));
        let named = settings.flat_map(|setting| {
            plain_interfaces(setting.value.as_str()).map(move |interface| (setting.name.as_str(), interface))
        });
        let is_attached =
            move |name: &str| attached.iter().any(|interface| interface.interface_name.as_str().starts_with(name));
        named.filter(move |(_, name)| !attached.is_empty() && !is_attached(name))
    }

    /// Returns the accelerators in `resources`, of which the pods request their own number.
    pub fn listed_accelerators(&self) -> impl Iterator<Item = &str> {
        // A pattern may match adapters by chance.
        let is_accelerator = |name: &&str| self.matches.gpu_resources.iter().any(|gpu| gpu.as_str() == *name);
        self.resources.iter().map(|resource| resource.name.as_str()).filter(is_accelerator)
    }

    /// Returns true if the profile gives containers access to the node: privileges, host paths or the host network.
    #[must_use]
    pub fn grants_host_access(&self) -> bool {
        self.security_context.privileged || !self.volumes.host_paths.is_empty() || self.pod.host_network
    }

    /// Returns true if pods of `namespace` with these `labels` may use the profile.
    #[must_use]
    pub fn allows(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.namespaces.as_ref().is_none_or(|namespaces| namespaces.allows(namespace, labels))
    }
}
