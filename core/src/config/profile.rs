//! Fabric profiles: the settings that a pod needs to use the GPU network of a site.
//!
//! The types define both the values and their form in the configuration. Profiles intentionally cannot override user
//! settings or deny pods.

mod capability;
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

use super::LintSettings;
use super::fields::Fields;
use super::section::item;
use crate::fabric::nccl;
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
    check: Self::check
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

    /// Validates constraints between fields.
    fn check(&self, fields: &mut Fields<'_>) {
        if let Some(name) = first_ambiguous(&self.env) {
            let expected = "expected unique names, or conditions on different machines";
            fields.report_problem("env", format!("duplicate entry for {name}: {expected}"));
        }
        if let Some(name) = first_duplicate(self.resources.iter().map(|resource| &resource.name)) {
            fields.report_problem("resources", format!("duplicate entry for {name}: expected unique names"));
        }
        if let Some(name) = first_duplicate(self.sidecars.iter().map(|sidecar| &sidecar.name)) {
            fields.report_problem("sidecars", format!("duplicate entry for {name}: expected unique names"));
        }
        let mounts = self.volumes.host_paths.iter().map(|path| &path.mount_path);
        let mounts = mounts.chain(self.volumes.config_maps.iter().map(|map| &map.mount_path));
        let mounts = mounts.chain(self.volumes.shm.iter().map(|shm| &shm.mount));
        if let Some(path) = first_duplicate(mounts.map(|path| path.as_str().trim_end_matches('/'))) {
            fields.report_problem("volumes", format!("duplicate mount path {path}: expected unique paths"));
        }
        if self.pod.pod_anti_affinity.is_some() && self.pod.labels.is_empty() {
            fields.report_problem("pod", "podAntiAffinity requires at least one label".to_owned());
        }
        if self.namespaces.as_ref().is_some_and(Namespaces::is_empty) {
            let problem = "expected names, a selector, or both";
            fields.report_problem("namespaces", problem.to_owned());
        }
        if let Some(problem) = nccl::check_combination(|name| self.value(name)) {
            fields.report_problem("env", problem);
        }
        self.check_transport(fields);
        let counted = self.resources.iter().any(|resource| matches!(resource.amount, Amount::Devices { .. }));
        let per_resource = self.networks.multus.attach.iter().any(|attach| attach.count == AttachCount::PerResource);
        if per_resource && !counted {
            fields.report_problem("networks", "count: perResource requires a device in resources".to_owned());
        }
    }

    /// Reports settings with which no pod could use the transport.
    fn check_transport(&self, fields: &mut Fields<'_>) {
        let transport = self.transport;
        for Setting { name, value, .. } in &self.env {
            if let Some(problem) = transport.contradiction(name.as_str(), value.as_str()) {
                fields.report_problem("env", format!("{name}={value} {problem}; the transport is {transport}"));
            }
        }
        if let Some(net) = &self.fail_closed.nccl_net
            && let Some(problem) = transport.contradiction("NCCL_NET", net)
        {
            fields.report_problem("failClosed", format!("ncclNet={net} {problem}; the transport is {transport}"));
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|setting| setting.name.as_str() == name).map(|setting| setting.value.as_str())
    }
}

/// Returns the first name of two settings that may both apply to a pod.
fn first_ambiguous(settings: &[Setting]) -> Option<&EnvName> {
    let machines = |setting: &'_ Setting| setting.when.as_ref().map(|when| when.sku.clone()).unwrap_or_default();
    settings.iter().enumerate().find_map(|(index, setting)| {
        let mut earlier = settings.iter().take(index).filter(|earlier| earlier.name == setting.name);
        earlier.any(|earlier| MachinePattern::overlap(&machines(earlier), &machines(setting))).then_some(&setting.name)
    })
}

/// Returns the first item that occurs twice.
fn first_duplicate<T: PartialEq>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for item in items {
        if seen.contains(&item) {
            return Some(item);
        }
        seen.push(item);
    }
    None
}
