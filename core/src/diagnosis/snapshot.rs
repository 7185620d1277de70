//! The objects of a cluster at one time, reduced to the fields that the checks read.
//!
//! A dump and a live cluster fill the same snapshot. Every number and length is bounded: a dump may come from anywhere.
//! Objects of other kinds are ignored.

pub(super) mod claim;
pub(super) mod condition;
pub(super) mod container;
mod device;
pub(super) mod event;
pub(super) mod gang_key;
pub(super) mod labels;
pub(super) mod log;
pub(super) mod mesh;
pub(super) mod namespace;
pub(super) mod node;
mod object;
pub(super) mod other_pods;
pub(super) mod peer_authentication;
mod pinned;
pub(super) mod pod;
pub(super) mod ras;
pub(super) mod read;
pub(super) mod reference;
mod related;
mod repeats;
pub(super) mod service;
pub(super) mod transport;
pub(super) mod usage;
pub(super) mod workload;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::config::{Configuration, Termination};
use claim::ClaimRecord;
use condition::ConditionRecord;
use event::EventRecord;
use gang_key::{GangApi, PodGroupRecord};
use log::ContainerLog;
use namespace::NamespaceRecord;
use node::NodeRecord;
pub use object::{ObjectReader, ObjectRecord};
use other_pods::OtherPods;
use peer_authentication::PeerAuthenticationRecord;
use pod::PodRecord;
use ras::RasRecord;
use repeats::ObjectIndex;
use service::ServiceRecord;
use workload::{QueueRecord, WorkloadRecord};

/// Maximum number of objects: the pods, events and jobs of a cluster of 5,000 nodes. A pod takes some 3 KB.
pub const MAX_OBJECTS: usize = 200_000;
/// Maximum number of containers with a log: those of a job on some hundred nodes with eight containers each.
pub const MAX_LOGS: usize = 4_096;

/// The objects of a cluster at one time.
#[derive(Debug)]
pub struct ClusterSnapshot {
    pub(super) pods: Vec<PodRecord>,
    pub(super) workloads: Vec<WorkloadRecord>,
    pub(super) events: Vec<EventRecord>,
    pub(super) nodes: Vec<Arc<NodeRecord>>,
    pub(super) namespaces: Vec<NamespaceRecord>,
    pub(super) services: Vec<ServiceRecord>,
    pub(super) claims: Vec<ClaimRecord>,
    pub(super) peer_authentications: Vec<PeerAuthenticationRecord>,
    pub(super) pod_groups: Vec<PodGroupRecord>,
    pub(super) queue_workloads: Vec<QueueRecord>,
    pub(super) logs: Vec<ContainerLog>,
    pub(super) ras: Vec<RasRecord>,
    pub(super) other_pods: OtherPods,
    /// Kinds and namespaces of which the snapshot contains all objects; the namespace is empty for all namespaces.
    listed: BTreeSet<(ObjectKind, Box<str>)>,
    /// True if a part of the input could not be read, so that it may contain any object that the snapshot lacks.
    has_gaps: bool,
    /// True if a part of the input was empty, so that a list may be missing.
    has_empty_source: bool,
    /// Names that the list of nodes lacks although nodes may have them.
    unconfirmed_nodes: BTreeSet<Box<str>>,
    newest: Option<Timestamp>,
    index: ObjectIndex,
    count: usize,
    reader: Arc<ObjectReader>,
}

/// A kind of object whose absence is evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// Pods.
    Pod,
    /// Nodes.
    Node,
    /// Services.
    Service,
    /// `ResourceClaims`.
    ResourceClaim,
    /// `PodGroups` of Volcano.
    VolcanoPodGroup,
    /// `PodGroups` of scheduler-plugins.
    CoschedulingPodGroup,
    /// `PodGroups` of KAI.
    KaiPodGroup,
    /// `PodGroups` of Koordinator.
    KoordinatorPodGroup,
    /// `PodGroups` of Kubernetes.
    NativePodGroup,
    /// Workloads of Kueue.
    QueueWorkload,
}

/// Error of an object that cannot be added.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SnapshotError {
    /// Too many objects.
    #[error("more than the limit of {MAX_OBJECTS} objects: select a namespace")]
    TooMany,
    /// Too many logs.
    #[error("more than the limit of {MAX_LOGS} logs: select a job or a namespace")]
    TooManyLogs,
}

impl Default for ClusterSnapshot {
    fn default() -> Self {
        Self::new(Configuration::embedded().termination)
    }
}

impl ClusterSnapshot {
    /// Creates an empty snapshot. `settings` determine which containers are proxies and sidecars.
    #[must_use]
    pub fn new(settings: Termination) -> Self {
        Self {
            pods: Vec::new(),
            workloads: Vec::new(),
            events: Vec::new(),
            nodes: Vec::new(),
            namespaces: Vec::new(),
            services: Vec::new(),
            claims: Vec::new(),
            peer_authentications: Vec::new(),
            pod_groups: Vec::new(),
            queue_workloads: Vec::new(),
            logs: Vec::new(),
            ras: Vec::new(),
            other_pods: OtherPods::default(),
            listed: BTreeSet::new(),
            has_gaps: false,
            has_empty_source: false,
            unconfirmed_nodes: BTreeSet::new(),
            newest: None,
            index: ObjectIndex::default(),
            count: 0,
            reader: Arc::new(ObjectReader::new(settings)),
        }
    }

    /// Adds an object, and returns false if no check reads its kind. `namespace` is that of objects without one. Of several
    /// versions of an object, the newest counts.
    pub fn add(&mut self, object: &Value, namespace: &str) -> Result<bool, SnapshotError> {
        match self.reader.read(object, namespace) {
            Some(object) => self.add_record(object).map(|()| true),
            None => Ok(false),
        }
    }

    /// Returns the reader of objects that are added by [`Self::add_record`].
    #[must_use]
    pub fn reader(&self) -> Arc<ObjectReader> {
        Arc::clone(&self.reader)
    }

    /// Like [`Self::add`], for an object that was read before.
    pub fn add_record(&mut self, object: ObjectRecord) -> Result<(), SnapshotError> {
        // A dump of one object of a kind usually contains all of its namespace.
        let listed = object.listed();
        self.insert(object)?;
        self.listed.extend(listed);
        Ok(())
    }

    /// Like [`Self::add`], for an object of a list that may not be read to its end: others of its kind may exist until
    /// [`Self::mark_complete`].
    pub fn add_one(&mut self, object: &Value, namespace: &str) -> Result<(), SnapshotError> {
        self.reader.read(object, namespace).map_or(Ok(()), |object| self.insert(object))
    }

    /// Adds the log of a container.
    pub fn add_log(&mut self, log: ContainerLog) -> Result<(), SnapshotError> {
        self.logs.push(log);
        if self.logs.len() > MAX_LOGS { Err(SnapshotError::TooManyLogs) } else { Ok(()) }
    }

    /// Adds what RAS reported about a job.
    pub fn add_ras(&mut self, record: RasRecord) {
        self.ras.push(record);
    }

    /// Records that the snapshot contains all objects of a kind in `namespace`; `None` for all namespaces.
    pub fn mark_complete(&mut self, kind: ObjectKind, namespace: Option<&str>) {
        self.listed.insert((kind, namespace.unwrap_or_default().into()));
    }

    /// Records that a part of the input could not be read: the absence of an object is no evidence.
    pub fn mark_incomplete(&mut self) {
        self.has_gaps = true;
    }

    /// Records that a part of the input was empty: the command that should have written a list may have failed.
    pub fn mark_empty_source(&mut self) {
        self.has_empty_source = true;
    }

    /// Returns the newest time in the objects, which is near the time of a dump.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Returns true if the snapshot contains a pod.
    #[must_use]
    pub fn has_pods(&self) -> bool {
        !self.pods.is_empty()
    }

    /// Returns true if an unfinished workload of a snapshot without pods has some, or is no object of a cluster.
    #[must_use]
    pub fn misses_pods(&self) -> bool {
        let has_pods = |workload: &WorkloadRecord| !workload.is_finished() && workload.runs();
        let misses = |workload: &WorkloadRecord| workload.created.is_none() || has_pods(workload);
        self.pods.is_empty() && (self.workloads.is_empty() || self.workloads.iter().any(misses))
    }

    /// Returns true if Kueue has admitted a job that has not finished.
    #[must_use]
    pub fn holds_quota(&self) -> bool {
        self.queue_workloads.iter().any(QueueRecord::holds_quota)
    }

    /// Returns the number of objects that the input contains repeatedly, in other or the same versions.
    #[must_use]
    pub fn repeats(&self) -> usize {
        self.index.repeats
    }

    /// Returns true if a part of the input could not be read, or was empty.
    pub(super) fn may_lack_lists(&self) -> bool {
        self.has_gaps || self.has_empty_source
    }

    /// Returns true if an object that the snapshot lacks does not exist.
    pub(super) fn is_complete(&self, kind: ObjectKind, namespace: &str) -> bool {
        let is_listed = |namespace: &str| self.listed.contains(&(kind, namespace.into()));
        !self.has_gaps && (is_listed("") || is_listed(namespace))
    }

    /// Returns true if a node that the snapshot lacks does not exist.
    pub(super) fn confirms_node(&self, name: &str) -> bool {
        self.is_complete(ObjectKind::Node, "") && !self.unconfirmed_nodes.contains(name)
    }

    fn count_object(&mut self) -> Result<(), SnapshotError> {
        self.count += 1;
        if self.count - self.index.repeats > MAX_OBJECTS { Err(SnapshotError::TooMany) } else { Ok(()) }
    }

    fn record(&mut self, time: Option<Timestamp>) {
        self.newest = self.newest.max(time);
    }

    fn record_conditions(&mut self, conditions: &[ConditionRecord]) {
        for condition in conditions {
            self.record(condition.since.max(condition.reported));
        }
    }
}

impl GangApi {
    /// Returns the kind of its `PodGroups`.
    pub(super) fn object_kind(self) -> ObjectKind {
        match self {
            Self::Volcano => ObjectKind::VolcanoPodGroup,
            Self::Coscheduling => ObjectKind::CoschedulingPodGroup,
            Self::Kai => ObjectKind::KaiPodGroup,
            Self::Koordinator => ObjectKind::KoordinatorPodGroup,
            Self::Native => ObjectKind::NativePodGroup,
        }
    }
}
