//! What decisions need of a pod, small enough to keep for every pod of a cluster.

pub(crate) mod bounds;
mod read;
mod rules;
pub mod schema;

use std::time::Duration;

use jiff::Timestamp;

pub use bounds::Excess;
pub use rules::{RestartRule, RestartRules, RuleAction};

use crate::pod::{ContainerKind, RestartPolicy};

/// What decisions need of a pod.
#[allow(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// Namespace.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
    /// Uid: another pod of the same name has another one.
    pub uid: Box<str>,
    /// When the pod was created.
    pub created: Option<Timestamp>,
    /// The node that it is bound to.
    pub node: Option<Box<str>>,
    /// Its phase.
    pub phase: Phase,
    /// It is being deleted.
    pub deleting: bool,
    /// It shares its node's network.
    pub host_network: bool,
    /// Process 1 is not a container's own: it shares its process namespace among its containers, or its node's.
    pub shared_processes: bool,
    /// Its label says `trainmesh.dev/inject: disabled`.
    pub opted_out: bool,
    /// The webhook has left a mark on it. Marks come with copied templates too: proof of nothing else.
    pub traced: bool,
    /// The kubelet is restarting all of its containers.
    pub restarting: bool,
    /// It is in the ambient mesh.
    pub ambient: bool,
    /// What its annotations say to us.
    pub declared: Declared,
    /// The containers that the status annotation of the injector lists among the application's; `None` where there is no
    /// readable one, and no container where it is too long: then no container counts as the proxy.
    pub injected: Option<Box<[Box<str>]>>,
    /// How its mesh agent is set up.
    pub agent: Agent,
    /// It has more containers than are kept; `containers` is empty.
    pub too_many_containers: bool,
    /// Application containers and native sidecars, in the order of the pod.
    pub containers: Box<[ContainerFacts]>,
}

/// The annotations by which a pod's author steers us, as they were written, where they are within bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// `trainmesh.dev/payload-containers`.
    pub payload: Option<Result<Box<str>, Excess>>,
    /// `trainmesh.dev/helper-containers`.
    pub helpers: Option<Result<Box<str>, Excess>>,
    /// `trainmesh.dev/settle`.
    pub settle: Option<Result<Box<str>, Excess>>,
}

/// How the mesh agent of a pod is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// It runs no Envoy: there is no admin port.
    pub proxyless: bool,
    /// Its status port, where the pod says; 0: it has none.
    pub status_port: Option<u16>,
    /// How long it drains connections, where the pod says.
    pub drain: Option<Duration>,
}

/// A pod's phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not all containers have been started yet.
    Pending,
    /// Some container runs, starts or will start again.
    Running,
    /// All containers have ended well.
    Succeeded,
    /// All containers have ended, some badly.
    Failed,
    /// The node does not answer, or the phase is not there.
    Unknown,
}

/// What decisions need of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Its name.
    pub name: Box<str>,
    /// [`ContainerKind::App`] or [`ContainerKind::NativeSidecar`].
    pub kind: ContainerKind,
    /// The policy that the kubelet follows where no rule matches.
    pub policy: RestartPolicy,
    /// `restartPolicyRules`, which come first.
    pub rules: RestartRules,
    /// Its state.
    pub state: State,
    /// The id of its present or last instance.
    pub id: Option<Box<str>>,
    /// How often it was restarted.
    pub restarts: u32,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its status is missing or says nothing.
    Absent,
    /// About to start.
    Waiting {
        /// It has crashed often enough to be held back.
        crash_loop: bool,
    },
    /// Runs.
    Running,
    /// Has ended.
    Terminated {
        /// Its exit code.
        exit_code: i32,
        /// When; absent where the kubelet has lost track of it.
        finished: Option<Timestamp>,
    },
}
