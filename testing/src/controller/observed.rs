//! The state of a pod as the kubelet reports it.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::cluster::{Namespace, TIMEOUT, eventually};

/// Name of the proxy container.
pub const PROXY: &str = "istio-proxy";

/// A pod as it was read from the apiserver.
#[derive(Clone, Debug)]
pub struct ObservedPod(pub Value);

/// State of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// The kubelet has not reported a state.
    Unknown,
    /// Waiting, with the reason.
    Waiting(String),
    Running,
    Terminated {
        code: i64,
        /// Rounded to whole seconds by the kubelet.
        at: Timestamp,
    },
}

/// Reads the current state of a pod.
pub fn observe(namespace: &Namespace, name: &str) -> ObservedPod {
    ObservedPod(namespace.get("pod", name).unwrap_or_else(|| panic!("there is no pod {name}")))
}

/// Waits until a pod satisfies `condition` and returns it; `what` describes the condition.
pub fn wait_for_pod(
    namespace: &Namespace,
    name: &str,
    what: &str,
    condition: impl Fn(&ObservedPod) -> bool,
) -> ObservedPod {
    eventually(TIMEOUT, &format!("{name}: {what}"), || {
        let pod = observe(namespace, name);
        if condition(&pod) { Ok(pod) } else { Err(pod) }
    })
}

impl ObservedPod {
    pub fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().expect("a pod has a name")
    }

    pub fn phase(&self) -> &str {
        self.0["status"]["phase"].as_str().unwrap_or_default()
    }

    /// Returns true if the pod has completed: no container will run again.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase(), "Succeeded" | "Failed")
    }

    pub fn state(&self, container: &str) -> ContainerState {
        let Some(status) = self.status(container) else { return ContainerState::Unknown };
        let state = &status["state"];
        let terminated = &state["terminated"];
        if let Some(code) = terminated["exitCode"].as_i64() {
            let at = terminated["finishedAt"].as_str().and_then(|text| text.parse().ok());
            return ContainerState::Terminated { code, at: at.expect("finishedAt is set") };
        }
        match &state["waiting"] {
            Value::Null => ContainerState::Running,
            waiting => ContainerState::Waiting(waiting["reason"].as_str().unwrap_or_default().to_owned()),
        }
    }

    pub fn restarts(&self, container: &str) -> u64 {
        self.status(container).and_then(|status| status["restartCount"].as_u64()).unwrap_or(0)
    }

    /// Returns true if the container is ready.
    pub fn is_ready(&self, container: &str) -> bool {
        self.status(container).is_some_and(|status| status["ready"] == true)
    }

    /// Returns the termination time of a container, if it has terminated.
    pub fn terminated_at(&self, container: &str) -> Option<Timestamp> {
        match self.state(container) {
            ContainerState::Terminated { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Returns the last termination time of these containers, if all have terminated.
    pub fn all_terminated_at(&self, containers: &[&str]) -> Option<Timestamp> {
        let times: Option<Vec<_>> = containers.iter().map(|container| self.terminated_at(container)).collect();
        times?.into_iter().max()
    }

    /// Returns the time from the termination of these containers to that of the proxy; negative if the proxy was first.
    pub fn proxy_delay(&self, containers: &[&str]) -> Option<SignedDuration> {
        Some(self.terminated_at(PROXY)?.duration_since(self.all_terminated_at(containers)?))
    }

    /// Returns the names of the containers other than the proxy.
    pub fn main_containers(&self) -> Vec<&str> {
        let containers = self.0["spec"]["containers"].as_array().into_iter().flatten();
        containers.filter_map(|container| container["name"].as_str()).filter(|name| *name != PROXY).collect()
    }

    fn status(&self, container: &str) -> Option<&Value> {
        let lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
        let all = lists.iter().filter_map(|list| self.0["status"][list].as_array()).flatten();
        all.into_iter().find(|status| status["name"] == container)
    }
}

/// One line with the phase and the state of each container.
impl fmt::Display for ObservedPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.phase())?;
        for container in self.main_containers().into_iter().chain([PROXY]) {
            write!(f, ", {container} {:?} after {} restarts", self.state(container), self.restarts(container))?;
        }
        Ok(())
    }
}
