//! Pods, reduced to the fields that the checks read.

use jiff::Timestamp;
use serde_json::Value;

use super::claim::ClaimReference;
use super::condition::{self, ConditionRecord, conditions};
use super::container::{ContainerRecord, StateRecord};
use super::gang_key::{DeclaredGang, GangKey};
use super::labels::Labels;
use super::mesh::MeshRecord;
use super::read::{MAX_NAME, items, name, text, time, truncate};
use super::reference::{ObjectKey, Reference, WorkloadName, controller};
use super::transport::TransportRecord;
use super::usage::UsageRecord;
use crate::config::Termination;
use crate::keys;
use crate::lifecycle::{BlockedSidecar, Completion, PodFacts, PodOverview, PodPhase, ProxyOverview, SidecarCatalog};
use crate::pod::{ContainerKind, Pod};
use crate::workload::{self, PodIdentity};

/// Maximum number of containers in one list of a pod: that of the controller.
const MAX_CONTAINERS: usize = 64;
/// Maximum number of finalizers and gates.
const MAX_NAMES: usize = 16;

/// Kind of pods.
pub(in crate::diagnosis) const POD: &str = "Pod";
/// Kind of groups of a leader and its workers, which are numbered in each group.
pub(in crate::diagnosis) const LEADER_WORKER_SET: &str = "LeaderWorkerSet";

/// A pod.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct PodRecord {
    pub(in crate::diagnosis) namespace: Box<str>,
    pub(in crate::diagnosis) name: Box<str>,
    pub(in crate::diagnosis) uid: Box<str>,
    pub(in crate::diagnosis) created: Option<Timestamp>,
    /// End of the grace period of a pod that is being deleted.
    pub(in crate::diagnosis) deleted: Option<Timestamp>,
    pub(in crate::diagnosis) finalizers: Vec<Box<str>>,
    pub(in crate::diagnosis) node: Option<Box<str>>,
    pub(in crate::diagnosis) phase: PodPhase,
    pub(in crate::diagnosis) reason: Option<Box<str>>,
    pub(in crate::diagnosis) message: Option<Box<str>>,
    pub(in crate::diagnosis) conditions: Vec<ConditionRecord>,
    pub(in crate::diagnosis) containers: Vec<ContainerRecord>,
    pub(in crate::diagnosis) identity: Option<IdentityRecord>,
    pub(in crate::diagnosis) owner: Option<Reference>,
    pub(in crate::diagnosis) labels: Labels,
    /// Names of the extended resources that it requests.
    pub(in crate::diagnosis) devices: Vec<Box<str>>,
    pub(in crate::diagnosis) claims: Vec<ClaimReference>,
    /// Revision of the fabric profile that trainmesh applied.
    pub(in crate::diagnosis) fabric_revision: Option<Box<str>>,
    /// Name and domain of its DNS record in a headless Service.
    pub(in crate::diagnosis) hostname: Option<Box<str>>,
    pub(in crate::diagnosis) subdomain: Option<Box<str>>,
    pub(in crate::diagnosis) ip: Option<Box<str>>,
    pub(in crate::diagnosis) gang: Option<GangKey>,
    pub(in crate::diagnosis) declared_gang: Option<DeclaredGang>,
    /// Name of its scheduler.
    pub(in crate::diagnosis) scheduler: Option<Box<str>>,
    /// Names of the scheduling gates.
    pub(in crate::diagnosis) gates: Vec<Box<str>>,
    /// Nodes to which a selector or affinity limits the pod.
    pub(in crate::diagnosis) pinned: Vec<Box<str>>,
    /// Field that names them.
    pub(in crate::diagnosis) pinned_by: &'static str,
    /// Problems of an injected pod that its spec shows.
    pub(in crate::diagnosis) mesh: MeshRecord,
    /// The network that the pod requests for NCCL.
    pub(in crate::diagnosis) transport: TransportRecord,
    pub(in crate::diagnosis) usage: UsageRecord,
    /// Names of the application containers that run and are not main containers.
    pub(in crate::diagnosis) running_sidecars: Vec<Box<str>>,
    /// Those of them that the controller cannot terminate.
    pub(in crate::diagnosis) blocked_sidecars: Vec<BlockedSidecar>,
    /// Time at which all main containers completed.
    pub(in crate::diagnosis) completion: Completion,
    pub(in crate::diagnosis) proxy: ProxyOverview,
    started: Option<Timestamp>,
}

/// Position of a pod in its workload.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct IdentityRecord {
    kind: &'static str,
    qualifier: &'static str,
    workload: Box<str>,
    pub(in crate::diagnosis) role: Option<Box<str>>,
    pub(in crate::diagnosis) index: Option<u64>,
    /// True if the pods of the workload work together until completion.
    pub(in crate::diagnosis) is_training: bool,
    /// True if the pod does not take part in the collective work.
    pub(in crate::diagnosis) is_auxiliary: bool,
}

impl PodRecord {
    /// Reads a pod. `namespace` is that of objects without one.
    pub(super) fn read(raw: &Value, namespace: &str, settings: &Termination, catalog: &SidecarCatalog) -> Self {
        let pod = Pod::new(raw);
        let facts = PodFacts::read(pod);
        let overview = PodOverview::new(&facts, settings, catalog);
        let PodOverview { main, completion, proxy, running_sidecars, blocked_sidecars } = overview;
        let in_list = |kind: ContainerKind| {
            let same_list = move |other: ContainerKind| other.spec_list() == kind.spec_list();
            pod.containers().filter(move |container| same_list(container.kind)).take(MAX_CONTAINERS)
        };
        let containers = in_list(ContainerKind::Init).chain(in_list(ContainerKind::App));
        let is_main = |name: &str| main.iter().any(|main| **main == *name);
        Self {
            namespace: name(raw, "/metadata/namespace").unwrap_or_else(|| namespace.into()),
            name: name(raw, "/metadata/name").unwrap_or_default(),
            uid: name(raw, "/metadata/uid").unwrap_or_default(),
            created: time(raw, "/metadata/creationTimestamp"),
            deleted: time(raw, "/metadata/deletionTimestamp"),
            finalizers: items(raw, "/metadata/finalizers", MAX_NAMES).filter_map(super::read::as_name).collect(),
            node: name(raw, "/spec/nodeName"),
            phase: facts.phase,
            reason: name(raw, "/status/reason"),
            message: text(raw, "/status/message"),
            conditions: conditions(raw),
            containers: containers
                .map(|container| ContainerRecord::read(pod, container, is_main(container.name())))
                .collect(),
            identity: workload::identify(pod).map(IdentityRecord::new),
            owner: controller(raw),
            labels: Labels::read(pod),
            devices: super::device::requested_devices(pod),
            claims: ClaimReference::read(raw),
            fabric_revision: pod.annotation(keys::FABRIC_REVISION).map(|text| truncate(text, 64)),
            hostname: name(raw, "/spec/hostname"),
            subdomain: name(raw, "/spec/subdomain"),
            ip: name(raw, "/status/podIP"),
            gang: GangKey::read(pod),
            declared_gang: DeclaredGang::read(pod),
            scheduler: name(raw, "/spec/schedulerName"),
            gates: items(raw, "/spec/schedulingGates", MAX_NAMES).filter_map(|gate| name(gate, "/name")).collect(),
            pinned: super::pinned::pinned_nodes(raw),
            pinned_by: super::pinned::pinned_field(raw),
            mesh: MeshRecord::read(pod, workload::identify(pod)),
            transport: TransportRecord::read(pod, is_main),
            usage: UsageRecord::read(raw, pod),
            running_sidecars,
            blocked_sidecars,
            completion,
            proxy,
            started: time(raw, "/status/startTime"),
        }
    }

    /// Returns kind, namespace and name.
    pub(in crate::diagnosis) fn title(&self) -> String {
        format!("Pod {}/{}", self.namespace, self.name)
    }

    pub(in crate::diagnosis) fn condition(&self, kind: &str) -> Option<&ConditionRecord> {
        condition::find(&self.conditions, kind)
    }

    pub(in crate::diagnosis) fn is_scheduled(&self) -> bool {
        self.node.is_some()
    }

    pub(in crate::diagnosis) fn is_finished(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Returns reason and message of the status of a pod that the kubelet or a controller terminated.
    pub(in crate::diagnosis) fn status_summary(&self) -> Option<String> {
        let reason = self.reason.as_deref()?;
        Some(self.message.as_deref().map_or_else(|| reason.to_owned(), |text| format!("{reason}: {text}")))
    }

    /// Returns true if the pod takes part in the collective work of a training job.
    pub(in crate::diagnosis) fn is_rank(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.is_training && !identity.is_auxiliary)
    }

    pub(in crate::diagnosis) fn main(&self) -> impl Iterator<Item = &ContainerRecord> {
        self.containers.iter().filter(|container| container.is_main)
    }

    /// Returns true if all main containers run.
    pub(in crate::diagnosis) fn is_running(&self) -> bool {
        self.main().next().is_some() && self.main().all(ContainerRecord::is_running)
    }

    /// Returns the number of accelerators that the pod requests.
    pub(in crate::diagnosis) fn accelerators(&self) -> u64 {
        self.containers.iter().fold(0, |sum, container| sum.saturating_add(container.accelerators))
    }

    /// Returns the time since which the pod holds its accelerators; `None` if it holds none.
    pub(in crate::diagnosis) fn held_since(&self) -> Option<Timestamp> {
        if !self.is_scheduled() || self.is_finished() {
            return None;
        }
        let scheduled = self.condition("PodScheduled").filter(|condition| condition.is_true());
        scheduled.and_then(|condition| condition.since).or(self.started).or(self.created)
    }

    /// Returns the key of its workload, as far as the pod contains it: by its labels, else its owner, else the pod itself.
    pub(in crate::diagnosis) fn workload(&self) -> ObjectKey<'_> {
        match (&self.identity, &self.owner) {
            (Some(identity), _) => identity.key(&self.namespace),
            (None, Some(owner)) => owner.key(&self.namespace),
            (None, None) => ObjectKey::new(POD, &self.namespace, &self.name),
        }
    }

    /// Returns true if [`Self::workload`] is `workload`.
    pub(in crate::diagnosis) fn is_of(&self, workload: &WorkloadName) -> bool {
        self.workload() == workload.key()
    }

    /// Returns the role in its workload.
    pub(in crate::diagnosis) fn role(&self) -> Option<&str> {
        self.identity.as_ref()?.role.as_deref()
    }

    /// Returns role and index, which a pod that replaces this one has too; `None` without an index, and if several groups of the
    /// workload have it.
    pub(in crate::diagnosis) fn position(&self) -> Option<(Option<&str>, u64)> {
        let identity = self.identity.as_ref().filter(|identity| identity.kind != LEADER_WORKER_SET)?;
        Some((identity.role.as_deref(), identity.index?))
    }

    /// Returns the role and index, or the name: `worker-1`.
    pub(in crate::diagnosis) fn short_name(&self) -> String {
        match &self.identity {
            Some(IdentityRecord { role: Some(role), index: Some(index), .. }) => format!("{role}-{index}"),
            _ => self.name.to_string(),
        }
    }

    /// Returns all times of the pod's status, except the end of a grace period, which may be in the future.
    pub(super) fn times(&self) -> impl Iterator<Item = Timestamp> {
        let conditions = self.conditions.iter().flat_map(|condition| [condition.since, condition.reported]);
        let containers = self.containers.iter().flat_map(ContainerRecord::times);
        conditions.chain([self.created, self.started]).flatten().chain(containers)
    }

    /// Returns the containers that wait to start, with reason and message.
    pub(in crate::diagnosis) fn waiting(&self) -> impl Iterator<Item = (&ContainerRecord, &str, Option<&str>)> {
        self.containers.iter().filter_map(|container| match &container.state {
            StateRecord::Waiting { reason, message } => Some((container, &**reason, message.as_deref())),
            _ => None,
        })
    }
}

impl IdentityRecord {
    fn new(identity: PodIdentity<'_>) -> Self {
        let PodIdentity { kind, workload, role, index, training } = identity;
        let bounded = |text: &str| truncate(text, MAX_NAME);
        Self {
            kind: kind.kind,
            qualifier: workload::kind_qualifier(kind.group, kind.kind),
            workload: bounded(workload),
            role: role.map(bounded),
            index,
            is_training: training,
            is_auxiliary: workload::is_auxiliary_role(identity),
        }
    }

    fn key<'a>(&'a self, namespace: &'a str) -> ObjectKey<'a> {
        ObjectKey { qualifier: self.qualifier, ..ObjectKey::new(self.kind, namespace, &self.workload) }
    }
}
