//! Determines the role of each container: proxy, sidecar or main container.

use std::collections::{HashMap, HashSet};

use super::catalog::{CatalogEntry, SidecarCatalog};
use super::{BlockedReason, BlockedSidecar, ContainerFacts, PodFacts, PodFinding, PodFindingCode, RestartCounts};
use crate::container_lists::{items, sidecars as listed_sidecars};
use crate::pod::ContainerKind;

/// Detail of a finding. With a shared process namespace, the signal would terminate the sandbox and with it every
/// container of the pod; with hostPID, it would reach the init process of the node.
const SHARED_PROCESSES: &str =
    "its command signals process 1, which is not its own with shareProcessNamespace or hostPID";

/// The containers of a pod by role.
#[derive(Debug)]
pub(super) struct Roles<'a> {
    /// The Istio proxy.
    pub(super) proxy: ProxyRole<'a>,
    /// Sidecars that can be terminated, in the order of termination.
    pub(super) sidecars: Vec<(&'a ContainerFacts, &'a CatalogEntry)>,
    /// Main containers, whose completion triggers termination.
    pub(super) main: Vec<&'a ContainerFacts>,
    /// Why `trainmesh.dev/payload-containers` is invalid: names that are not application containers, or an exceeded
    /// limit.
    pub(super) unknown_main: Option<String>,
    /// Containers that are neither awaited nor terminated: `trainmesh.dev/payload-containers` leaves them out, and the catalog has no
    /// entry for them.
    pub(super) left_out: Vec<&'a ContainerFacts>,
    /// Sidecars that cannot be terminated.
    pub(super) blocked: Vec<BlockedSidecar>,
    /// Findings about these sidecars, and about an invalid `trainmesh.dev/helper-containers`.
    pub(super) findings: Vec<PodFinding>,
}

/// The Istio proxy of a pod.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProxyRole<'a> {
    /// An application container.
    Classic(&'a ContainerFacts),
    /// An application container that the kubelet restarts after every exit.
    AlwaysRestarted(&'a ContainerFacts),
    /// A native sidecar, which the kubelet terminates.
    Native,
    /// The pod has no proxy.
    Absent,
}

impl<'a> Roles<'a> {
    /// Determines the roles: annotations come first, then names of the catalog. Other containers are main containers.
    pub(super) fn new(facts: &'a PodFacts, proxy_container: &str, catalog: &'a SidecarCatalog) -> Self {
        let proxy = ProxyRole::find(facts, proxy_container);
        let is_proxy = |container: &ContainerFacts| matches!(proxy, ProxyRole::Classic(proxy) | ProxyRole::AlwaysRestarted(proxy) if proxy.name == container.name);
        let app = || {
            let containers = facts.containers.iter().filter(|container| container.kind == ContainerKind::App);
            containers.filter(move |container| !is_proxy(container))
        };
        // A list that exceeds its limits names no container: using a part of it could terminate the proxy too early.
        let declared_main: Option<HashSet<&str>> = facts
            .annotations
            .payload_containers
            .as_ref()
            .map(|text| text.iter().flat_map(|text| items(text)).collect());
        let declared_sidecars: HashMap<&str, &str> = match &facts.annotations.helper_containers {
            // A map keeps the last pair: the first entry of each container counts.
            Some(Ok(text)) => listed_sidecars(text).rev().collect(),
            Some(Err(_)) | None => HashMap::new(),
        };

        let mut roles = Self {
            proxy,
            sidecars: Vec::new(),
            main: Vec::new(),
            left_out: Vec::new(),
            unknown_main: None,
            blocked: Vec::new(),
            findings: Vec::new(),
        };
        let mut sidecars = Vec::new();
        for container in app() {
            let declared_entry = declared_sidecars.get(&*container.name).copied();
            let entry = declared_entry.unwrap_or(&container.name);
            let is_declared_main = declared_main.as_ref().map(|names| names.contains(&*container.name));
            match (is_declared_main, declared_entry, catalog.find(entry)) {
                (Some(true), _, _) | (None, None, None) => roles.main.push(container),
                (_, _, Some((position, entry))) => match obstacle(facts, container, catalog, entry) {
                    None => sidecars.push((position, container, entry)),
                    Some(reason) => roles.block(container, reason),
                },
                (_, Some(entry), None) => roles.block(container, BlockedReason::Other(catalog.missing(entry))),
                (Some(false), None, None) => roles.left_out.push(container),
            }
        }
        sidecars.sort_by_key(|(position, _, _)| *position);
        roles.sidecars = sidecars.into_iter().map(|(_, container, entry)| (container, entry)).collect();

        roles.unknown_main = unknown_main(facts, app().map(|container| &*container.name));
        if let Some(unknown) = unknown_sidecars(facts) {
            roles.findings.push(PodFinding::new(PodFindingCode::HelperUnknown).with_detail(unknown));
        }
        roles
    }
}

impl Roles<'_> {
    /// Adds a sidecar that cannot be terminated, and the finding about it.
    fn block(&mut self, container: &ContainerFacts, reason: BlockedReason) {
        let finding = PodFinding::for_container(PodFindingCode::HelperHasNoMethod, &container.name);
        self.findings.push(finding.with_detail(reason.to_string()));
        self.blocked.push(BlockedSidecar { name: container.name.clone(), reason });
    }

    /// Returns names and restarts of the main containers.
    pub(super) fn main_restarts(&self) -> RestartCounts {
        self.main.iter().map(|container| (container.name.clone(), container.restarts)).collect()
    }
}

impl<'a> ProxyRole<'a> {
    /// Finds the proxy. The injector's list of containers takes precedence over the name, which a user may have given
    /// to another container.
    fn find(facts: &'a PodFacts, name: &str) -> Self {
        let listed =
            facts.injected_containers.as_ref().is_none_or(|listed| listed.iter().any(|container| **container == *name));
        let named = |kind: ContainerKind| {
            facts.containers.iter().find(move |container| container.kind == kind && *container.name == *name)
        };
        match (named(ContainerKind::App), named(ContainerKind::NativeSidecar)) {
            (Some(container), _) if listed && container.can_complete() => Self::Classic(container),
            (Some(container), _) if listed => Self::AlwaysRestarted(container),
            (_, Some(_)) => Self::Native,
            _ => Self::Absent,
        }
    }
}

/// Returns why `container`, a sidecar with a catalog entry, cannot be terminated; `None` if it can be.
fn obstacle(
    facts: &PodFacts,
    container: &ContainerFacts,
    catalog: &SidecarCatalog,
    entry: &CatalogEntry,
) -> Option<BlockedReason> {
    let other = |text: &str| Some(BlockedReason::Other(text.to_owned()));
    if facts.host_network {
        Some(BlockedReason::HostNetwork)
    } else if container.rules.restarts_all_when_terminated {
        other("terminating it would restart all containers")
    } else if !container.can_complete() {
        other("the kubelet would restart it")
    } else if !catalog.allows(entry) {
        Some(BlockedReason::PortForwardDisabled)
    } else if facts.shared_processes && entry.signals_process_1() {
        other(SHARED_PROCESSES)
    } else {
        None
    }
}

/// Returns the names in `trainmesh.dev/payload-containers` that are not in `app`, or the limit that it exceeds.
fn unknown_main<'a>(facts: &PodFacts, app: impl Iterator<Item = &'a str>) -> Option<String> {
    let text = match facts.annotations.payload_containers.as_ref()? {
        Ok(text) => text,
        Err(exceeded) => return Some(exceeded.to_string()),
    };
    let app: HashSet<&str> = app.collect();
    join(items(text).filter(|name| !app.contains(name)))
}

/// Returns the names in `trainmesh.dev/helper-containers` that the pod does not have, or the limit that it exceeds.
fn unknown_sidecars(facts: &PodFacts) -> Option<String> {
    let text = match facts.annotations.helper_containers.as_ref()? {
        Ok(text) => text,
        Err(exceeded) => return Some(exceeded.to_string()),
    };
    let known: HashSet<&str> = facts.containers.iter().map(|container| &*container.name).collect();
    let containers = listed_sidecars(text).map(|(container, _)| container);
    join(containers.filter(|container| !known.contains(container)))
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}
