//! Actions that terminate a container, and their results.

use std::time::Duration;

/// An action on a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run a command in the container, without a shell.
    Exec {
        /// The command and its arguments.
        argv: Vec<String>,
    },
    /// Send a POST request to the pod's loopback interface through a port-forward.
    Post {
        /// Port.
        port: u16,
        /// Path, with its leading `/`.
        path: String,
    },
}

/// One attempt to terminate a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Method that the action belongs to.
    pub method: Method,
    /// The action.
    pub action: Action,
    /// Maximum time from the action to the exit of the container.
    pub exit_timeout: Duration,
}

/// The methods to terminate a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// `pilot-agent request` to Envoy's admin port.
    EnvoyAdmin,
    /// `pilot-agent request` to pilot-agent's status port.
    StatusPort,
    /// POST to the status port through a port-forward.
    StatusForward,
    /// `curl` to the status port.
    StatusCurl,
    /// A command in a sidecar.
    SidecarExec,
    /// POST to a port of a sidecar.
    SidecarPost,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptOutcome {
    /// Class of the outcome, on which the next decision depends.
    pub result: AttemptResult,
    /// Error or response, for the event; may be empty.
    pub detail: String,
}

/// Classes of outcomes. None of them is success: only a container that is observed to be terminated counts as success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptResult {
    /// The request was delivered. An exit code or stream error also counts as delivered, because the exit of the
    /// container kills the command.
    Sent,
    /// The image does not contain the command.
    NotInImage,
    /// The port is closed, or the request was answered with an error.
    Refused,
    /// The container no longer runs.
    ContainerGone,
    /// The pod no longer exists.
    PodGone,
    /// The kubelet is unreachable.
    Unreachable,
    /// A permission is missing, or a policy forbids the action.
    Forbidden,
    /// The action did not finish in time.
    TimedOut,
    /// Any other error.
    Failed,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] = [
        Self::EnvoyAdmin,
        Self::StatusPort,
        Self::StatusForward,
        Self::StatusCurl,
        Self::SidecarExec,
        Self::SidecarPost,
    ];

    /// Returns the name used in metrics and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EnvoyAdmin => "envoy-admin",
            Self::StatusPort => "status-port",
            Self::StatusForward => "status-forward",
            Self::StatusCurl => "status-curl",
            Self::SidecarExec => "helper-exec",
            Self::SidecarPost => "helper-post",
        }
    }

    /// Returns the subresource of pods that the method uses; it requires `create` and `get`.
    #[must_use]
    pub fn subresource(self) -> &'static str {
        match self {
            Self::EnvoyAdmin | Self::StatusPort | Self::StatusCurl | Self::SidecarExec => "pods/exec",
            Self::StatusForward | Self::SidecarPost => "pods/portforward",
        }
    }
}

impl AttemptResult {
    /// Returns the name used in metrics and events.
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

    /// Returns the result as a clause, about a container that still runs.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Sent => "the request was sent, but the container still runs",
            Self::NotInImage => "the image does not contain the command",
            Self::Refused => "the request was refused",
            Self::ContainerGone => "the container no longer runs",
            Self::PodGone => "the pod no longer exists",
            Self::Unreachable => "the node is unreachable",
            Self::Forbidden => "the action is forbidden",
            Self::TimedOut => "no response in time",
            Self::Failed => "the request failed",
        }
    }
}
