//! What became of a pod, as the kubelet tells it.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::cluster::{Namespace, PATIENCE, eventually};

/// The proxy's container.
pub const PROXY: &str = "istio-proxy";

/// A pod as it was seen.
#[derive(Clone, Debug)]
pub struct Seen(pub Value);

/// State of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The kubelet has said nothing of it.
    Unknown,
    /// For this reason.
    Waiting(String),
    Running,
    Ended {
        code: i64,
        /// In whole seconds: the kubelet tells no more.
        at: Timestamp,
    },
}

/// The pod as it is now.
pub fn see(namespace: &Namespace, name: &str) -> Seen {
    Seen(namespace.get("pod", name).unwrap_or_else(|| panic!("there is no pod {name}")))
}

/// Waits until the pod is as `wanted`, and returns it.
pub fn watch(namespace: &Namespace, name: &str, what: &str, wanted: impl Fn(&Seen) -> bool) -> Seen {
    eventually(PATIENCE, &format!("{name}: {what}"), || {
        let seen = see(namespace, name);
        if wanted(&seen) { Ok(seen) } else { Err(seen) }
    })
}

impl Seen {
    pub fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().expect("a pod has a name")
    }

    pub fn phase(&self) -> &str {
        self.0["status"]["phase"].as_str().unwrap_or_default()
    }

    /// Whether no container will run again.
    pub fn over(&self) -> bool {
        matches!(self.phase(), "Succeeded" | "Failed")
    }

    pub fn state(&self, container: &str) -> State {
        let Some(status) = self.status(container) else { return State::Unknown };
        let state = &status["state"];
        let ended = &state["terminated"];
        if let Some(code) = ended["exitCode"].as_i64() {
            let at = ended["finishedAt"].as_str().and_then(|text| text.parse().ok());
            return State::Ended { code, at: at.expect("the kubelet says when a container ended") };
        }
        match &state["waiting"] {
            Value::Null => State::Running,
            waiting => State::Waiting(waiting["reason"].as_str().unwrap_or_default().to_owned()),
        }
    }

    pub fn restarts(&self, container: &str) -> u64 {
        self.status(container).and_then(|status| status["restartCount"].as_u64()).unwrap_or(0)
    }

    /// Whether a container passes its probes.
    pub fn ready(&self, container: &str) -> bool {
        self.status(container).is_some_and(|status| status["ready"] == true)
    }

    /// When a container ended, if it has.
    pub fn ended(&self, container: &str) -> Option<Timestamp> {
        match self.state(container) {
            State::Ended { at, .. } => Some(at),
            _ => None,
        }
    }

    /// When the last of these containers ended, if all have.
    pub fn all_ended(&self, containers: &[&str]) -> Option<Timestamp> {
        let ends: Option<Vec<_>> = containers.iter().map(|container| self.ended(container)).collect();
        ends?.into_iter().max()
    }

    /// From the end of these containers to the proxy's; negative if the proxy ended first.
    pub fn delay(&self, containers: &[&str]) -> Option<SignedDuration> {
        Some(self.ended(PROXY)?.duration_since(self.all_ended(containers)?))
    }

    /// Names of the containers beside the proxy.
    pub fn payload(&self) -> Vec<&str> {
        let containers = self.0["spec"]["containers"].as_array().into_iter().flatten();
        containers.filter_map(|container| container["name"].as_str()).filter(|name| *name != PROXY).collect()
    }

    fn status(&self, container: &str) -> Option<&Value> {
        let lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
        let all = lists.iter().filter_map(|list| self.0["status"][list].as_array()).flatten();
        all.into_iter().find(|status| status["name"] == container)
    }
}

/// One line: what a person would look at first.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.phase())?;
        for container in self.payload().into_iter().chain([PROXY]) {
            write!(f, ", {container} {:?} after {} restarts", self.state(container), self.restarts(container))?;
        }
        Ok(())
    }
}
