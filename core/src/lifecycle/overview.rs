//! The roles and the completion of a pod's containers, for a diagnosis.

use super::decide::{Completion, completion};
use super::restart_prediction::RestartPrediction;
use super::roles::{ProxyRole, Roles};
use super::{ContainerState, PodFacts, SidecarCatalog};
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
}

/// The Istio proxy of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyOverview {
    /// No proxy.
    Absent,
    /// A native sidecar, which the kubelet terminates.
    Native,
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
        let roles = Roles::new(facts, settings.proxy_container.as_str(), catalog);
        let completion = completion(facts, &roles);
        let proxy = match roles.proxy {
            ProxyRole::Absent => ProxyOverview::Absent,
            ProxyRole::Native => ProxyOverview::Native,
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
        Self {
            main: roles.main.iter().map(|container| container.name.clone()).collect(),
            completion,
            proxy,
            running_sidecars: running.map(|sidecar| sidecar.name.clone()).collect(),
        }
    }
}
