//! The possible decisions about a pod, and the code and text of each reason.

use std::time::Duration;

use jiff::Timestamp;

use super::{Attempt, Method};
use crate::codes::codes;
use crate::finding::{Finding, Severity};
use crate::scope::Exclusion;

/// The next thing to do for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Do nothing yet.
    Wait {
        /// When to decide again; `None` if only a change of the pod matters.
        until: Option<Timestamp>,
        /// Reason for waiting.
        reason: WaitReason,
    },
    /// Do nothing until the pod, its namespace or the configuration changes.
    Skip(SkipReason),
    /// Carry out `attempt` on `target`: call [`History::begin`](super::History::begin) before it and
    /// [`History::record`](super::History::record) after it.
    Terminate {
        /// The action to carry out.
        attempt: Attempt,
        /// The container to terminate.
        target: TerminationTarget,
    },
    /// Publish the finding, call [`History::record_finding`](super::History::record_finding), and decide again.
    Publish(PodFinding),
}

/// Names of containers with their number of restarts.
pub type RestartCounts = Box<[(Box<str>, u32)]>;

/// The container that an action applies to. The action no longer applies when any of these values has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminationTarget {
    /// Role of the container in the pod.
    pub role: Role,
    /// Name of the container.
    pub container: Box<str>,
    /// Container ID.
    pub id: Box<str>,
    /// Names and restarts of the main containers at the time of the decision.
    pub main_restarts: RestartCounts,
}

/// Role of a container that the controller terminates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The Istio proxy.
    Proxy,
    /// A sidecar other than the proxy.
    Sidecar,
}

/// A finding about one pod. The controller publishes it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFinding {
    /// Code of the finding.
    pub code: PodFindingCode,
    /// Name of the affected container, if the finding is about one.
    pub container: Option<Box<str>>,
    /// Details that are specific to this pod; may be empty.
    pub detail: String,
    /// Details of the termination, set for [`PodFindingCode::ProxyEnded`] and [`PodFindingCode::HelperEnded`].
    pub termination: Option<TerminationDetails>,
}

/// Details of the termination of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminationDetails {
    /// The last method used before the container was observed to be terminated.
    pub method: Method,
    /// Time from the completion of the main containers, if the kubelet reports both times.
    pub delay: Option<Duration>,
}

codes! {
    /// Reasons to wait.
    pub enum WaitReason {
        /// The status of a main container is missing.
        StatusIncomplete => "a main container has no status yet",
        /// A main container runs or is about to start.
        PayloadRunning => "the main containers have not completed",
        /// The restart policy or rules of a main container restart it.
        PayloadRestarting => "a main container will be restarted",
        /// A restart rule of a terminated container restarts all containers.
        PodRestarting => "all containers will be restarted",
        /// The main containers completed less than the stabilization window ago.
        Settling => "the main containers have just completed: waiting for the stabilization window",
        /// A sidecar cannot be terminated before it runs.
        HelperStarting => "a sidecar is not running yet",
        /// The proxy cannot be terminated before it runs.
        ProxyStarting => "the proxy is not running yet",
        /// An action is in progress.
        InFlight => "an action is in progress",
        /// An action was carried out; the container may need time to exit.
        Ending => "termination was requested, but the container has not exited yet",
        /// Every method was tried; the next round is due later.
        BackingOff => "no method has terminated the container so far: backing off",
        /// The deadline is exceeded; retries are rare from now on.
        GivenUp => "the container could not be terminated: retrying once an hour",
    }
}

codes! {
    /// Reasons to skip a pod.
    pub enum SkipReason {
        /// The configuration has `termination.enabled: false`.
        TerminationOff => "termination is disabled in the configuration",
        /// The namespace has not opted in.
        NamespaceNotOptedIn => "the namespace is not labeled trainmesh.dev/inject=enabled or audit",
        /// `kube-system` and the namespace of the installation are excluded.
        ExcludedNamespace => "the controller ignores pods in this namespace",
        /// The pod has the opt-out label.
        PodOptedOut => "the pod is labeled trainmesh.dev/inject=disabled",
        /// Deletion terminates all containers.
        BeingDeleted => "the pod is being deleted",
        /// The pod is not scheduled, or not all init containers have completed.
        Pending => "the pod is pending",
        /// All containers have terminated.
        Finished => "the pod has finished",
        /// The node does not report the status of its pods.
        PhaseUnknown => "the pod's phase is unknown",
        /// The pod's loopback interface is that of the node.
        HostNetwork => "the pod uses the host network",
        /// A condition of the pod shows a restart of all containers.
        Restarting => "all containers of the pod are being restarted",
        /// The pod has more containers than the controller stores.
        TooManyContainers => "the pod has more than 64 containers",
        /// Pods in the ambient mesh have no sidecar.
        Ambient => "the pod is in the ambient mesh and has no sidecar",
        /// The kubelet terminates native sidecars.
        NativeProxy => "the kubelet terminates native sidecars",
        /// The restart policy restarts the proxy, while the main containers have their own policy.
        ProxyNeverEnds => "the kubelet would restart the proxy",
        /// The pod has neither a proxy nor sidecars.
        NothingToEnd => "the pod has neither a proxy nor a sidecar to terminate",
        /// `trainmesh.dev/payload-containers` does not match the pod.
        PayloadUnknown => "trainmesh.dev/payload-containers is too long or lists a name that is not a main container",
        /// All containers are proxies or sidecars.
        NoPayload => "the pod has no main container",
        /// The restart policy restarts a main container after every exit.
        PayloadNeverEnds => "a main container never completes: its restart policy is Always",
        /// The namespace is in audit mode.
        Audit => "audit mode: nothing is terminated in a namespace labeled trainmesh.dev/inject=audit",
        /// Nothing is left to do.
        Ended => "the proxy and the sidecars have terminated",
    }
}

codes! {
    /// Codes of the findings about a pod; each is published once for each container.
    pub enum PodFindingCode {
        /// The controller terminated the proxy.
        ProxyEnded => "terminated the proxy after the main containers completed",
        /// No method worked until the deadline.
        ProxyEndFailed => "the main containers have completed, but the proxy could not be terminated",
        /// The proxy exited by itself and will not be restarted.
        ProxyDiedEarly => "the proxy exited while the main containers are still running",
        /// The kubelet restarted the proxy after the controller terminated it.
        ProxyRestarted => "the proxy was terminated, but the kubelet restarted it",
        /// The proxy does not stay up long enough to be terminated.
        ProxyCrashLoop => "the main containers have completed, but the proxy is in a crash loop",
        /// The controller terminated a sidecar.
        HelperEnded => "terminated the sidecar after the main containers completed",
        /// No method worked until the deadline.
        HelperEndFailed => "the main containers have completed, but the sidecar could not be terminated",
        /// No safe way to terminate the sidecar is known.
        HelperHasNoMethod => "no method can terminate the sidecar: it will keep running",
        /// `trainmesh.dev/helper-containers` does not match the pod.
        HelperUnknown => "trainmesh.dev/helper-containers is too long or lists a name that is not a container of the pod: the list or the name is ignored",
        /// `trainmesh.dev/payload-containers` does not match the pod.
        PayloadUnknown => "trainmesh.dev/payload-containers is too long or lists a name that is not a main container: nothing will be terminated",
        /// `trainmesh.dev/settle` is not a valid duration, or exceeds the maximum.
        SettleUnreadable => "trainmesh.dev/settle is not a valid duration or exceeds the maximum: the configured value is used",
        /// A permission is missing.
        Forbidden => "no permission to terminate containers of this pod",
        /// Audit mode: what would have been terminated.
        WouldEnd => "audit mode: the main containers have completed; the proxy and the sidecars would be terminated",
        /// The controller acted too early: a defect of the controller.
        PrematureEnd => "a main container was restarted after the proxy or a sidecar was terminated",
    }
}

impl From<Exclusion> for SkipReason {
    fn from(exclusion: Exclusion) -> Self {
        match exclusion {
            Exclusion::NamespaceNotOptedIn => Self::NamespaceNotOptedIn,
            Exclusion::ExcludedNamespace => Self::ExcludedNamespace,
            Exclusion::PodOptedOut => Self::PodOptedOut,
        }
    }
}

impl PodFindingCode {
    /// Returns the severity of the finding.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::ProxyEnded | Self::HelperEnded | Self::WouldEnd => Severity::Info,
            _ => Severity::Warning,
        }
    }
}

impl PodFinding {
    /// Converts to the shared finding type.
    #[must_use]
    pub fn to_finding(&self) -> Finding {
        let Self { code, container, detail, termination } = self;
        let text = code.text();
        let (message, evidence) = match termination {
            Some(TerminationDetails { method, delay: Some(delay) }) => {
                let message = format!("{text} (by {}, {:.0} s later)", method.name(), delay.as_secs_f64());
                (message.into(), String::new())
            }
            Some(TerminationDetails { method, delay: None }) => {
                (format!("{text} (by {})", method.name()).into(), String::new())
            }
            None => (text.into(), detail.clone()),
        };
        Finding {
            code: code.code(),
            severity: code.severity(),
            message,
            evidence,
            fix: None,
            subject: container.as_deref().unwrap_or_default().to_owned(),
            link: "docs/termination.md#events",
            line: None,
            source: None,
        }
    }

    pub(super) fn new(code: PodFindingCode) -> Self {
        Self { code, container: None, detail: String::new(), termination: None }
    }

    pub(super) fn for_container(code: PodFindingCode, container: &str) -> Self {
        Self { container: Some(container.into()), ..Self::new(code) }
    }

    pub(super) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}
