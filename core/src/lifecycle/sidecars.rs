//! Detects sidecars of a new pod that will have to be terminated.

use std::fmt;

use super::catalog::{self, CatalogEntry};
use super::roles::Roles;
use super::{ContainerFacts, Method, PodFacts, SidecarCatalog};
use crate::config::Termination;
use crate::keys;
use crate::pod::{ContainerKind, Pod};

/// The sidecars of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodSidecars {
    /// The pod has no sidecars, neither by annotation nor by a container name of the catalog.
    None,
    /// The pod has no sidecars, but containers that are neither awaited nor terminated, by name.
    LeftOut(Vec<Box<str>>),
    /// `trainmesh.dev/payload-containers` is invalid, so that nothing is terminated; contains the reason.
    MainUnknown(String),
    /// The pod has sidecars, but a main container never completes, or the pod has no main container.
    MainNeverCompletes,
    /// The pod has sidecars to terminate after the main containers.
    Terminable {
        /// Sidecars that keep running, with the reason.
        blocked: Vec<BlockedSidecar>,
        /// Sidecars whose command the chart's exec policy permits only in `execPolicy.extraContainers`: those with another name
        /// than an entry with this command.
        renamed: Vec<Box<str>>,
        /// Containers that are neither awaited nor terminated.
        left_out: Vec<Box<str>>,
    },
}

/// A sidecar that the controller cannot terminate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedSidecar {
    /// Name of the container.
    pub name: Box<str>,
    /// Why the controller cannot terminate it.
    pub reason: BlockedReason,
}

/// Why a sidecar cannot be terminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockedReason {
    /// Its method needs a port-forward, and the settings disable it.
    PortForwardDisabled,
    /// The pod uses the host network, so that trainmesh leaves it alone.
    HostNetwork,
    /// `trainmesh.dev/payload-containers` is invalid, so that nothing is terminated; contains the reason.
    MainUnknown(String),
    /// Another obstacle; contains the description.
    Other(String),
}

impl fmt::Display for BlockedReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortForwardDisabled => {
                formatter.write_str("its method needs a port-forward, and termination.portForward is false")
            }
            Self::HostNetwork => formatter.write_str("trainmesh leaves pods with hostNetwork alone"),
            Self::MainUnknown(reason) => {
                write!(formatter, "{} does not match the pod: {reason}", keys::PAYLOAD_CONTAINERS)
            }
            Self::Other(reason) => formatter.write_str(reason),
        }
    }
}

/// Returns the names of the main containers of `pod`.
#[must_use]
pub fn main_containers(pod: Pod<'_>, settings: &Termination) -> Vec<Box<str>> {
    let facts = PodFacts::read(pod);
    let catalog = SidecarCatalog::new(settings);
    let roles = Roles::new(&facts, settings.proxy_container.as_str(), &catalog);
    roles.main.iter().map(|container| container.name.clone()).collect()
}

/// Returns the sidecars of `pod`, none of whose containers has started.
#[must_use]
pub fn pod_sidecars(pod: Pod<'_>, settings: &Termination) -> PodSidecars {
    let is_set = |key: &&str| pod.annotation(key).is_some_and(|text| !text.trim().is_empty());
    let declared = [keys::HELPER_CONTAINERS, keys::PAYLOAD_CONTAINERS].iter().any(is_set);
    let mut app = pod.containers().filter(|container| container.kind == ContainerKind::App);
    // Most pods have no sidecars: comparing names is enough for them.
    if !declared && !app.any(|container| catalog::contains(settings, container.name())) {
        return PodSidecars::None;
    }
    let facts = PodFacts::read(pod);
    let catalog = SidecarCatalog::new(settings);
    let roles = Roles::new(&facts, settings.proxy_container.as_str(), &catalog);
    if let Some(unknown) = roles.unknown_main {
        return PodSidecars::MainUnknown(unknown);
    }
    let left_out: Vec<Box<str>> = roles.left_out.iter().map(|container| container.name.clone()).collect();
    let completes = !roles.main.is_empty() && roles.main.iter().all(|container| container.can_complete());
    if roles.sidecars.is_empty() && roles.blocked.is_empty() {
        return if completes && !left_out.is_empty() { PodSidecars::LeftOut(left_out) } else { PodSidecars::None };
    }
    if !completes {
        return PodSidecars::MainNeverCompletes;
    }
    let is_renamed = |(container, entry): &&(&ContainerFacts, &CatalogEntry)| {
        let named = catalog.find(&container.name).map(|(_, entry)| &entry.attempt.action);
        entry.attempt.method == Method::SidecarExec && named != Some(&entry.attempt.action)
    };
    let renamed = roles.sidecars.iter().filter(is_renamed).map(|(container, _)| container.name.clone()).collect();
    PodSidecars::Terminable { blocked: roles.blocked, renamed, left_out }
}
