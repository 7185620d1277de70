//! The facts about a pod that decisions need, small enough to cache for every pod of a cluster.

pub(crate) mod limits;
mod read;
mod rules;
pub mod schema;

use std::time::Duration;

use jiff::Timestamp;

pub use limits::LimitExceeded;
pub use rules::{RestartRule, RestartRules, RuleAction};

use crate::pod::{ContainerKind, RestartPolicy};

/// The facts about a pod that decisions need.
#[allow(clippy::struct_excessive_bools, reason = "the facts are independent of each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Namespace.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
    /// UID, which distinguishes pods of the same name.
    pub uid: Box<str>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Name of the node that the pod is bound to.
    pub node: Option<Box<str>>,
    /// Phase.
    pub phase: PodPhase,
    /// True if the pod is being deleted.
    pub deleting: bool,
    /// True if the pod uses the host network.
    pub host_network: bool,
    /// True if containers share a process namespace with each other or with the node, so that process 1 is not their
    /// own.
    pub shared_processes: bool,
    /// True if the pod has the label `trainmesh.dev/inject: disabled`.
    pub opted_out: bool,
    /// True if the pod has a label or annotation written by the webhook. A copied pod template contains them too.
    pub has_webhook_mark: bool,
    /// True if the kubelet is restarting all containers.
    pub restarting: bool,
    /// True if the pod is in the ambient mesh.
    pub ambient: bool,
    /// Annotations that configure termination.
    pub annotations: PodAnnotations,
    /// Application containers listed in the injector's status annotation. `None` if the annotation is missing or
    /// malformed; empty if it exceeds a limit, so that no container counts as the proxy.
    pub injected_containers: Option<Box<[Box<str>]>>,
    /// Configuration of pilot-agent.
    pub agent: AgentConfig,
    /// True if the pod has more containers than the limit; `containers` is empty then.
    pub too_many_containers: bool,
    /// Application containers and native sidecars, in the order of the pod spec.
    pub containers: Box<[ContainerFacts]>,
}

/// Annotations that configure termination for one pod, unparsed. `Err` if a value exceeds a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAnnotations {
    /// `trainmesh.dev/payload-containers`.
    pub payload_containers: Option<Result<Box<str>, LimitExceeded>>,
    /// `trainmesh.dev/helper-containers`.
    pub helper_containers: Option<Result<Box<str>, LimitExceeded>>,
    /// `trainmesh.dev/settle`.
    pub settle: Option<Result<Box<str>, LimitExceeded>>,
}

/// Configuration of the pod's pilot-agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentConfig {
    /// True if the agent runs no Envoy, so that there is no admin port.
    pub proxyless: bool,
    /// Status port, if the pod sets it; 0 if it is disabled.
    pub status_port: Option<u16>,
    /// Drain duration, if the pod sets it.
    pub drain: Option<Duration>,
}

/// Phase of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodPhase {
    /// Not all containers have started yet.
    Pending,
    /// A container runs, is starting or will be restarted.
    Running,
    /// All containers have terminated successfully.
    Succeeded,
    /// All containers have terminated, some with an error.
    Failed,
    /// The node does not report the phase, or the field is missing.
    Unknown,
}

/// The facts about a container that decisions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Name.
    pub name: Box<str>,
    /// [`ContainerKind::App`] or [`ContainerKind::NativeSidecar`].
    pub kind: ContainerKind,
    /// Restart policy that applies if no rule matches.
    pub policy: RestartPolicy,
    /// `restartPolicyRules`, which override the policy.
    pub rules: RestartRules,
    /// State.
    pub state: ContainerState,
    /// Container ID of the current or last instance.
    pub id: Option<Box<str>>,
    /// Number of restarts.
    pub restarts: u32,
}

/// State of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// The status is missing or empty.
    Absent,
    /// The container is about to start.
    Waiting {
        /// True in `CrashLoopBackOff`.
        crash_loop: bool,
    },
    /// The container runs.
    Running,
    /// The container has terminated.
    Terminated {
        /// Exit code.
        exit_code: i32,
        /// Time of termination; `None` if the kubelet does not report it.
        finished: Option<Timestamp>,
    },
}
