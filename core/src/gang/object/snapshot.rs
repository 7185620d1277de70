//! One gang at one time, as far as the decision depends on it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::{GroupApi, NetworkTopology};
use crate::pod::Pod;

/// Annotation with Volcano's queue.
pub const VOLCANO_QUEUE: &str = "scheduling.volcano.sh/queue-name";
/// Maximum length of a name in bytes. The apiserver rejects longer ones in a pod.
const MAX_NAME: usize = 253;

/// One gang at one time.
#[derive(Clone, Copy, Debug)]
pub struct GangSnapshot<'a> {
    /// API of the object that the pods name.
    pub api: GroupApi,
    /// The job.
    pub job: JobState,
    /// The pods of the gang: those that name the object, and those that the webhook missed.
    pub members: &'a [Member],
    /// The object that the pods name.
    pub group: GroupState,
    /// Time at which the members last changed, as observed by the controller.
    pub changed: Timestamp,
    /// Current time.
    pub now: Timestamp,
}

/// State of the job that owns a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The job cannot be read, or its size is unknown.
    Unknown,
    /// The job does not exist.
    Gone,
    /// The job is suspended, so that its pods are deleted.
    Suspended,
    /// The job has completed or failed.
    Ended,
    /// The job runs.
    Active(GangSize),
}

/// Size of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GangSize {
    /// Number of pods that start together.
    pub total: u32,
    /// Number of pods that must be placed together; less than `total` for elastic jobs.
    pub minimum: u32,
}

/// A pod of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// True if the pod names the object. It does not if it was created while the webhook was unavailable, or in another mode.
    pub keyed: bool,
    /// Stage of its life.
    pub stage: Stage,
    /// Fields that schedulers compare within a gang. Pods of a gang share them.
    pub terms: Arc<SchedulingTerms>,
}

/// Stage in the life of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waits for a node.
    Pending,
    /// Bound to a node.
    Placed,
    /// Succeeded: the rank is complete, and no pod replaces it.
    Succeeded,
    /// Failed, or being deleted: another pod may replace it.
    Leaving,
}

/// Fields of a pod that schedulers compare within a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SchedulingTerms {
    /// `spec.priority`
    pub priority: i64,
    /// `spec.priorityClassName`; empty if it is not set.
    pub priority_class: Box<str>,
    /// `spec.preemptionPolicy`; empty if it is not set.
    pub preemption_policy: Box<str>,
    /// `spec.schedulerName`
    pub scheduler: Box<str>,
    /// Volcano's queue; empty if it is not set.
    pub queue: Box<str>,
    /// Volcano's network topology.
    pub topology: Option<NetworkTopology>,
}

/// State of the object that the pods of a gang name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// It does not exist.
    Missing,
    /// It belongs to an operator or a user.
    Foreign,
    /// The controller created it.
    Own {
        /// Minimum number of pods; `None` if its pods are scheduled one by one.
        minimum: Option<u32>,
        /// True if it is being deleted. Kubernetes keeps it while pods use it.
        deleting: bool,
    },
}

impl SchedulingTerms {
    /// Reads the fields of `pod`. Texts longer than a name are ignored.
    #[must_use]
    pub fn read(pod: Pod<'_>) -> Self {
        let field = |name: &str| pod.spec().and_then(|spec| spec.get(name));
        let bounded = |text: Option<&str>| text.filter(|text| text.len() <= MAX_NAME).unwrap_or_default().into();
        let text = |name: &str| bounded(field(name).and_then(Value::as_str));
        Self {
            priority: field("priority").and_then(Value::as_i64).unwrap_or_default(),
            priority_class: text("priorityClassName"),
            preemption_policy: text("preemptionPolicy"),
            scheduler: text("schedulerName"),
            queue: bounded(pod.annotation(VOLCANO_QUEUE)),
            topology: NetworkTopology::read(pod),
        }
    }
}

impl Stage {
    /// Reads the stage of `pod`.
    #[must_use]
    pub fn read(pod: Pod<'_>) -> Self {
        let text = |pointer: &str| pod.raw().pointer(pointer).and_then(Value::as_str);
        match text("/status/phase") {
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Leaving,
            _ if text("/metadata/deletionTimestamp").is_some() => Self::Leaving,
            _ if text("/spec/nodeName").is_some_and(|node| !node.is_empty()) => Self::Placed,
            _ => Self::Pending,
        }
    }

    /// Returns true if the pod waits for a node or occupies one.
    #[must_use]
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Pending | Self::Placed)
    }
}
