//! What is done to a container to end it, and what comes of it.

use std::time::Duration;

/// What is done to a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run a command in it; no shell.
    Exec {
        /// The command and its arguments.
        argv: Vec<String>,
    },
    /// POST through a port-forward: to the pod's loopback.
    Post {
        /// The port.
        port: u16,
        /// The path, from its `/`.
        path: String,
    },
}

/// One try to end a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which of the ways this is.
    pub method: Method,
    /// What is done.
    pub action: Action,
    /// How long after it the container may take to be seen terminated.
    pub patience: Duration,
}

/// The ways to end a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// `pilot-agent request`, to Envoy's admin port.
    EnvoyAdmin,
    /// `pilot-agent request`, to pilot-agent's status port.
    StatusPort,
    /// POST to the status port through a port-forward.
    StatusForward,
    /// `curl` to the status port.
    StatusCurl,
    /// A helper's own command.
    HelperExec,
    /// POST to a helper's own port.
    HelperPost,
}

/// An action that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What came of it, as far as the next decision is concerned.
    pub result: AttemptResult,
    /// What was answered, in the words of an event; empty where nothing is worth telling.
    pub detail: String,
}

/// What came of an action, in the classes that matter to the next decision. None of them is success: that is a
/// container seen terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptResult {
    /// Delivered, also where the exit code or the stream says otherwise: quitting kills the messenger.
    Sent,
    /// The image has no such command.
    NotInImage,
    /// Nobody listens, or the answer was no.
    Refused,
    /// The container does not run any more.
    ContainerGone,
    /// The pod is not there any more.
    PodGone,
    /// The kubelet cannot be reached.
    Unreachable,
    /// The right is missing, or a policy forbids it.
    Forbidden,
    /// No answer in time.
    TimedOut,
    /// Anything else.
    Failed,
}

impl Method {
    /// Every way.
    pub const ALL: [Self; 6] =
        [Self::EnvoyAdmin, Self::StatusPort, Self::StatusForward, Self::StatusCurl, Self::HelperExec, Self::HelperPost];

    /// The name in metrics and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EnvoyAdmin => "envoy-admin",
            Self::StatusPort => "status-port",
            Self::StatusForward => "status-forward",
            Self::StatusCurl => "status-curl",
            Self::HelperExec => "helper-exec",
            Self::HelperPost => "helper-post",
        }
    }

    /// The subresource of pods that the way goes through: what `create` and `get` are needed on.
    #[must_use]
    pub fn subresource(self) -> &'static str {
        match self {
            Self::EnvoyAdmin | Self::StatusPort | Self::StatusCurl | Self::HelperExec => "pods/exec",
            Self::StatusForward | Self::HelperPost => "pods/portforward",
        }
    }
}

impl AttemptResult {
    /// The name in metrics and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::NotInImage => "not-in-image",
            Self::Refused => "refused",
            Self::ContainerGone => "container-gone",
            Self::PodGone => "pod-gone",
            Self::Unreachable => "unreachable",
            Self::Forbidden => "forbidden",
            Self::TimedOut => "timed-out",
            Self::Failed => "failed",
        }
    }
}
