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
pub(super) mod node;
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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::config::{Configuration, Termination};
use crate::lifecycle::SidecarCatalog;
use claim::ClaimRecord;
use condition::ConditionRecord;
use event::EventRecord;
use gang_key::{GangApi, PodGroupRecord};
use log::ContainerLog;
use node::NodeRecord;
use other_pods::OtherPods;
use peer_authentication::PeerAuthenticationRecord;
use pod::PodRecord;
use ras::RasRecord;
use read::{name, truncate};
use repeats::ObjectIndex;
use service::ServiceRecord;
use workload::{QueueRecord, WorkloadRecord};

/// Maximum number of objects: the pods, events and jobs of a cluster of 5,000 nodes. A pod takes some 3 KB.
pub const MAX_OBJECTS: usize = 200_000;
/// Maximum number of containers with a log: those of a job on some hundred nodes with eight containers each.
pub const MAX_LOGS: usize = 4_096;

/// Label of a namespace that enables trainmesh.
const INJECT_LABEL: &str = "/metadata/labels/trainmesh.dev~1inject";

/// The objects of a cluster at one time.
#[derive(Debug)]
pub struct ClusterSnapshot {
    pub(super) pods: Vec<PodRecord>,
    pub(super) workloads: Vec<WorkloadRecord>,
    pub(super) events: Vec<EventRecord>,
    pub(super) nodes: Vec<Arc<NodeRecord>>,
    /// Namespaces, and whether trainmesh is enabled in them.
    pub(super) namespaces: BTreeMap<Box<str>, bool>,
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
    newest: Option<Timestamp>,
    index: ObjectIndex,
    count: usize,
    settings: Termination,
    catalog: SidecarCatalog,
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
}

/// Result of adding an object.
#[derive(Clone, Copy, Debug)]
enum Inserted {
    /// No check reads its kind.
    Ignored,
    /// The absence of an object of its kind is no evidence.
    Unlisted,
    /// The absence of an object of this kind is evidence in a complete list.
    Listed(ObjectKind),
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
        let catalog = SidecarCatalog::new(&settings);
        Self {
            pods: Vec::new(),
            workloads: Vec::new(),
            events: Vec::new(),
            nodes: Vec::new(),
            namespaces: BTreeMap::new(),
            services: Vec::new(),
            claims: Vec::new(),
            peer_authentications: Vec::new(),
            pod_groups: Vec::new(),
            queue_workloads: Vec::new(),
            logs: Vec::new(),
            ras: Vec::new(),
            other_pods: OtherPods::default(),
            listed: BTreeSet::new(),
            newest: None,
            index: ObjectIndex::default(),
            count: 0,
            settings,
            catalog,
        }
    }

    /// Adds an object, and returns false if no check reads its kind. `namespace` is that of objects without one. Of several
    /// versions of an object, the newest counts.
    pub fn add(&mut self, object: &Value, namespace: &str) -> Result<bool, SnapshotError> {
        match self.insert(object, namespace)? {
            Inserted::Ignored => Ok(false),
            Inserted::Unlisted => Ok(true),
            Inserted::Listed(kind) => {
                let own = name(object, "/metadata/namespace").unwrap_or_else(|| truncate(namespace, 253));
                // A dump of one object of a kind usually contains all of its namespace.
                self.listed.insert((kind, if kind == ObjectKind::Node { "".into() } else { own }));
                Ok(true)
            }
        }
    }

    /// Like [`Self::add`], for an object of a list that may not be read to its end: others of its kind may exist until
    /// [`Self::mark_complete`].
    pub fn add_one(&mut self, object: &Value, namespace: &str) -> Result<(), SnapshotError> {
        self.insert(object, namespace).map(drop)
    }

    /// Inserts an object.
    fn insert(&mut self, object: &Value, namespace: &str) -> Result<Inserted, SnapshotError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let listed = match (group, kind) {
            ("", "Pod") => {
                let pod = PodRecord::read(object, namespace, &self.settings, &self.catalog);
                pod.times().for_each(|time| self.record(Some(time)));
                self.index.slot(object, group, kind, namespace, self.pods.len()).put(&mut self.pods, pod);
                Some(ObjectKind::Pod)
            }
            ("" | "events.k8s.io", "Event") => {
                let Some(event) = EventRecord::read(object, namespace) else { return Ok(Inserted::Ignored) };
                self.record(event.last);
                self.index.slot(object, group, kind, namespace, self.events.len()).put(&mut self.events, event);
                None
            }
            ("", "Node") => {
                let node = Arc::new(NodeRecord::read(object));
                self.record_conditions(&node.conditions);
                self.index.slot(object, group, kind, "", self.nodes.len()).put(&mut self.nodes, node);
                Some(ObjectKind::Node)
            }
            ("", "Namespace") => {
                let is_enabled = object.pointer(INJECT_LABEL).and_then(Value::as_str) == Some("enabled");
                self.namespaces.extend(name(object, "/metadata/name").map(|name| (name, is_enabled)));
                None
            }
            ("", "Service") => {
                let service = ServiceRecord::read(object, namespace);
                self.index.slot(object, group, kind, namespace, self.services.len()).put(&mut self.services, service);
                Some(ObjectKind::Service)
            }
            ("resource.k8s.io", "ResourceClaim") => {
                let claim = ClaimRecord::read(object, namespace);
                self.index.slot(object, group, kind, namespace, self.claims.len()).put(&mut self.claims, claim);
                Some(ObjectKind::ResourceClaim)
            }
            ("security.istio.io", "PeerAuthentication") => {
                let policy = PeerAuthenticationRecord::read(object, namespace);
                self.index
                    .slot(object, group, kind, namespace, self.peer_authentications.len())
                    .put(&mut self.peer_authentications, policy);
                None
            }
            (group, "PodGroup") => {
                let Some(api) = GangApi::of_group(group) else { return Ok(Inserted::Ignored) };
                let pod_group = PodGroupRecord::read(object, namespace, api);
                self.record_conditions(&pod_group.conditions);
                self.record(pod_group.created);
                self.index
                    .slot(object, group, kind, namespace, self.pod_groups.len())
                    .put(&mut self.pod_groups, pod_group);
                Some(api.object_kind())
            }
            ("kueue.x-k8s.io", "Workload") => {
                let workload = QueueRecord::read(object, namespace);
                self.record_conditions(&workload.conditions);
                self.index
                    .slot(object, group, kind, namespace, self.queue_workloads.len())
                    .put(&mut self.queue_workloads, workload);
                None
            }
            _ => {
                let read = WorkloadRecord::read(object, namespace, api_version, kind);
                let Some(workload) = read else { return Ok(Inserted::Ignored) };
                self.record_conditions(&workload.conditions);
                self.record(workload.created);
                self.index
                    .slot(object, group, kind, namespace, self.workloads.len())
                    .put(&mut self.workloads, workload);
                None
            }
        };
        self.count_object()?;
        Ok(listed.map_or(Inserted::Unlisted, Inserted::Listed))
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

    /// Returns true if an object that the snapshot lacks does not exist.
    pub(super) fn is_complete(&self, kind: ObjectKind, namespace: &str) -> bool {
        self.listed.contains(&(kind, "".into())) || self.listed.contains(&(kind, namespace.into()))
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
