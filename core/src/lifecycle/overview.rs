//! The roles and the completion of a pod's containers, for a diagnosis.

use super::decide::{Completion, completion};
use super::restart_prediction::RestartPrediction;
use super::roles::{ProxyRole, Roles};
use super::{BlockedReason, BlockedSidecar, ContainerFacts, ContainerState, PodFacts, SidecarCatalog};
use crate::config::Termination;
use crate::pod::ContainerKind;

/// Roles and completion of the containers of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOverview {
    /// Names of the main containers.
    pub main: Vec<Box<str>>,
    /// State of the main containers.
    pub completion: Completion,
    /// The Istio proxy.
    pub proxy: ProxyOverview,
    /// Names of the application containers that run and are not main containers: the classic proxy and sidecars.
    pub running_sidecars: Vec<Box<str>>,
    /// Those of them that the controller cannot terminate.
    pub blocked_sidecars: Vec<BlockedSidecar>,
}

/// The Istio proxy of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyOverview {
    /// No proxy.
    Absent,
    /// A native sidecar, which the kubelet terminates.
    Native {
        /// Name of the container.
        name: Box<str>,
    },
    /// An application container.
    Classic {
        /// Name of the container.
        name: Box<str>,
        /// True while it runs.
        running: bool,
        /// True if it has terminated for good.
        terminated: bool,
    },
}

impl PodOverview {
    /// Determines the roles of the containers under these settings.
    #[must_use]
    pub fn new(facts: &PodFacts, settings: &Termination, catalog: &SidecarCatalog) -> Self {
        let proxy_container = settings.proxy_container.as_str();
        let roles = Roles::new(facts, proxy_container, catalog);
        let Some(unknown) = roles.unknown_main else { return Self::with_roles(facts, settings, &roles, None) };
        // An annotation that does not match the pod names no main container: without it, all but the known sidecars are.
        let mut facts = facts.clone();
        facts.annotations.payload_containers = None;
        let roles = Roles::new(&facts, proxy_container, catalog);
        Self::with_roles(&facts, settings, &roles, Some(&BlockedReason::MainUnknown(unknown)))
    }

    /// `obstacle` prevents the termination of every sidecar.
    fn with_roles(
        facts: &PodFacts,
        settings: &Termination,
        roles: &Roles<'_>,
        obstacle: Option<&BlockedReason>,
    ) -> Self {
        let completion = completion(facts, roles);
        let proxy = match roles.proxy {
            ProxyRole::Absent => ProxyOverview::Absent,
            ProxyRole::Native => ProxyOverview::Native { name: settings.proxy_container.as_str().into() },
            ProxyRole::Classic(proxy) | ProxyRole::AlwaysRestarted(proxy) => ProxyOverview::Classic {
                name: proxy.name.clone(),
                running: proxy.state == ContainerState::Running,
                terminated: proxy.predict_restart() == RestartPrediction::Completed,
            },
        };
        let is_main = |name: &str| roles.main.iter().any(|main| *main.name == *name);
        let running = facts.containers.iter().filter(|container| {
            container.kind == ContainerKind::App
                && container.state == ContainerState::Running
                && !is_main(&container.name)
        });
        let running: Vec<&ContainerFacts> = running.collect();
        let obstacle = obstacle.cloned().or_else(|| facts.host_network.then_some(BlockedReason::HostNetwork));
        let reason = |container: &ContainerFacts| obstacle.clone().or_else(|| obstacle_of(container, roles));
        let blocked = running.iter().filter_map(|container| Some((container, reason(container)?)));
        let blocked = blocked.map(|(container, reason)| BlockedSidecar { name: container.name.clone(), reason });
        Self {
            main: roles.main.iter().map(|container| container.name.clone()).collect(),
            completion,
            proxy,
            running_sidecars: running.iter().map(|sidecar| sidecar.name.clone()).collect(),
            blocked_sidecars: blocked.collect(),
        }
    }
}

/// Returns why the controller cannot terminate `container`, which is no main container.
fn obstacle_of(container: &ContainerFacts, roles: &Roles<'_>) -> Option<BlockedReason> {
    match roles.proxy {
        ProxyRole::Classic(proxy) if proxy.name == container.name => return None,
        ProxyRole::AlwaysRestarted(proxy) if proxy.name == container.name => {
            return Some(BlockedReason::Other("the kubelet would restart it".to_owned()));
        }
        _ => {}
    }
    if roles.sidecars.iter().any(|(sidecar, _)| sidecar.name == container.name) {
        return None;
    }
    let blocked = roles.blocked.iter().find(|blocked| blocked.name == container.name);
    let unknown = || BlockedReason::Other("the catalog has no entry for it".to_owned());
    Some(blocked.map_or_else(unknown, |blocked| blocked.reason.clone()))
}
