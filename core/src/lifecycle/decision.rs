//! What can be decided about a pod, with every reason's code and words.

use std::time::Duration;

use jiff::Timestamp;

use super::{Method, Step};
use crate::codes::codes;
use crate::finding::{Finding, Severity};
use crate::scope::Exclusion;

/// What is to be done about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    Wait {
        /// When to ask again; `None`: when the pod changes.
        until: Option<Timestamp>,
        /// What is waited for.
        why: Why,
    },
    /// Nothing, until the pod, its namespace or the configuration changes.
    Skip(Skip),
    /// Carry out `step` on `target`: [`History::begin`](super::History::begin) before it,
    /// [`History::record`](super::History::record) after it.
    End {
        /// What to do.
        step: Step,
        /// To which container.
        target: Target,
    },
    /// Tell, note it by [`History::tell`](super::History::tell), and decide again.
    Report(Report),
}

/// The container that an action is meant for. It is no longer meant when any of this has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What the container is to the pod.
    pub role: Role,
    /// Its name.
    pub container: Box<str>,
    /// Its container id.
    pub id: Box<str>,
    /// How often the payload had been restarted when this was decided.
    pub payload_restarts: u64,
}

/// What a container that is ended is to its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The mesh's proxy.
    Proxy,
    /// A helper of the payload.
    Helper,
}

/// What is to be published about one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was found.
    pub code: ReportCode,
    /// About which container.
    pub container: Option<Box<str>>,
    /// What is particular to this pod; empty where there is nothing.
    pub detail: String,
    /// Of [`ReportCode::ProxyEnded`] and [`ReportCode::HelperEnded`]: how.
    pub ended: Option<Ended>,
}

/// How a container was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The last way that was tried before it was seen terminated.
    pub method: Method,
    /// From the payload's end to the container's, where the kubelet tells both.
    pub delay: Option<Duration>,
}

codes! {
    /// What is waited for.
    pub enum Why {
        /// A container of the payload has no status yet.
        StatusIncomplete => "a payload container has no status yet",
        /// A container of the payload runs or is about to.
        PayloadRunning => "the payload has not ended",
        /// A container of the payload has ended in a way after which its restart policy starts it again.
        PayloadRestarting => "a payload container will be started again",
        /// A container has ended in a way after which its rules start all containers again.
        PodRestarting => "all containers will be started again",
        /// The payload has ended only just now.
        Settling => "the payload has just ended: the settle window",
        /// Not running yet, so that it cannot be ended.
        HelperStarting => "a helper is not running yet",
        /// Not running yet, so that it cannot be ended.
        ProxyStarting => "the proxy is not running yet",
        /// An action is under way.
        InFlight => "an action is under way",
        /// An action was carried out; the container may take a moment.
        Ending => "told to end, not yet seen terminated",
        /// Every way was tried; the next round is due later.
        BackingOff => "not ended by any way so far: trying again later",
        /// Given up, but for a rare try.
        GivenUp => "could not be ended: tried again once an hour",
    }
}

codes! {
    /// Why nothing is done about a pod.
    pub enum Skip {
        /// Configuration: `termination.enabled: false`.
        TerminationOff => "termination is switched off in the configuration",
        /// Nothing is ended in other namespaces.
        NamespaceNotOptedIn => "the namespace is not labelled trainmesh.dev/inject=enabled or audit",
        /// `kube-system` and our own namespace are never served.
        ExcludedNamespace => "pods of this namespace are never changed",
        /// By label.
        PodOptedOut => "the pod is labelled trainmesh.dev/inject=disabled",
        /// Its end has been ordered already.
        BeingDeleted => "the pod is being deleted",
        /// Not all of its init containers have run.
        Pending => "the pod is pending",
        /// All of its containers have ended.
        Finished => "the pod has finished",
        /// The node does not answer.
        PhaseUnknown => "the pod's phase is unknown",
        /// Its loopback is the node's.
        HostNetwork => "the pod shares its node's network",
        /// By condition.
        Restarting => "the pod is being restarted as a whole",
        /// So many that not all of them are kept.
        TooManyContainers => "the pod has more than 64 containers",
        /// There is no sidecar in the ambient mesh.
        Ambient => "the pod is in the ambient mesh and has no sidecar",
        /// The kubelet ends it.
        NativeProxy => "the kubelet ends a native sidecar by itself",
        /// By the pod's restart policy, which the payload's own overrides.
        ProxyNeverEnds => "the kubelet would start the proxy again",
        /// Neither proxy nor helper.
        NothingToEnd => "the pod has neither a proxy nor a helper",
        /// `trainmesh.dev/payload-containers` does not fit the pod.
        PayloadUnknown => "trainmesh.dev/payload-containers names a container that the pod does not have",
        /// Nothing but proxy and helpers.
        NoPayload => "the pod has no payload",
        /// By restart policy.
        PayloadNeverEnds => "a payload container is always started again",
        /// A rehearsal.
        Audit => "a rehearsal: nothing is ended in a namespace labelled trainmesh.dev/inject=audit",
        /// Nothing is left to do.
        Ended => "proxy and helpers have ended",
    }
}

codes! {
    /// What is told about a pod, once.
    pub enum ReportCode {
        /// Ended by us.
        ProxyEnded => "the payload has ended: the proxy was ended",
        /// Every way was tried often enough.
        ProxyEndFailed => "the payload has ended, but the proxy could not be ended",
        /// It will not be started again.
        ProxyDiedEarly => "the proxy has ended while the payload still runs",
        /// Ended by us, and started again by the kubelet.
        ProxyRestarted => "the proxy was ended and has been started again",
        /// It is started again and again.
        ProxyCrashLoop => "the payload has ended, but the proxy crashes at its start",
        /// Ended by us.
        HelperEnded => "the payload has ended: the helper was ended",
        /// Every way was tried often enough.
        HelperEndFailed => "the payload has ended, but the helper could not be ended",
        /// Nobody says how to end it without harm.
        HelperHasNoMethod => "there is no way to end the helper: it will not be ended",
        /// `trainmesh.dev/helper-containers` does not fit the pod.
        HelperUnknown => "trainmesh.dev/helper-containers names a container that the pod does not have",
        /// `trainmesh.dev/payload-containers` does not fit the pod.
        PayloadUnknown => "nothing will be ended: trainmesh.dev/payload-containers names a container that the pod does not have",
        /// `trainmesh.dev/settle` is no duration.
        SettleUnreadable => "trainmesh.dev/settle is no duration: the configured one is used",
        /// The right to act is missing.
        Forbidden => "the controller may not end containers of this pod",
        /// A rehearsal.
        WouldEnd => "the payload has ended; a rehearsal: proxy and helpers would be ended",
        /// Our mistake, which must never happen.
        PrematureEnd => "the payload was started again after proxy or helpers had been told to end",
    }
}

impl From<Exclusion> for Skip {
    fn from(why: Exclusion) -> Self {
        match why {
            Exclusion::NamespaceNotOptedIn => Self::NamespaceNotOptedIn,
            Exclusion::ExcludedNamespace => Self::ExcludedNamespace,
            Exclusion::PodOptedOut => Self::PodOptedOut,
        }
    }
}

impl ReportCode {
    /// How bad it is.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::ProxyEnded | Self::HelperEnded | Self::WouldEnd => Severity::Info,
            _ => Severity::Warning,
        }
    }
}

impl Report {
    /// The report as a finding about the pod or its container.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let Self { code, container, detail, ended } = self;
        let text = code.text();
        let (message, evidence) = match ended {
            Some(Ended { method, delay: Some(delay) }) => {
                let message = format!("{text} (by {}, {:.0} s after the payload)", method.name(), delay.as_secs_f64());
                (message.into(), String::new())
            }
            Some(Ended { method, delay: None }) => (format!("{text} (by {})", method.name()).into(), String::new()),
            None => (text.into(), detail.clone()),
        };
        Finding {
            code: code.code(),
            severity: code.severity(),
            message,
            evidence,
            fix: None,
            subject: container.as_deref().unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn new(code: ReportCode) -> Self {
        Self { code, container: None, detail: String::new(), ended: None }
    }

    pub(super) fn about(code: ReportCode, container: &str) -> Self {
        Self { container: Some(container.into()), ..Self::new(code) }
    }

    pub(super) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}
