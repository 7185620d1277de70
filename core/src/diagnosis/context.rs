//! The snapshot with the indexes that the checks share.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::job::{Job, Jobs};
use super::snapshot::claim::ClaimRecord;
use super::snapshot::container::{ContainerRecord, TerminationRecord};
use super::snapshot::event::EventRecord;
use super::snapshot::gang_key::{GangApi, PodGroupRecord};
use super::snapshot::log::ContainerLog;
use super::snapshot::namespace::NamespaceRecord;
use super::snapshot::node::NodeRecord;
use super::snapshot::pod::{POD, PodRecord};
use super::snapshot::reference::ObjectKey;
use super::snapshot::service::ServiceRecord;
use super::snapshot::workload::QueueRecord;
use super::snapshot::{ClusterSnapshot, ObjectKind};
use super::{Diagnosis, Evidence};

/// Maximum number of pods of a node that are searched: twice the largest limit of a managed Kubernetes.
const MAX_NODE_PODS: usize = 512;
/// Maximum number of events of an object that are searched. Kubernetes counts repetitions in one event.
const MAX_EVENTS: usize = 64;

/// Label of Kueue with the group of a pod without a job, which is the name of its Workload.
const KUEUE_GROUP: &str = "kueue.x-k8s.io/pod-group-name";

/// A check of one workload, which adds its findings.
pub(super) type JobCheck = fn(&Job<'_>, &Context<'_>, &mut Vec<Diagnosis>);

/// The snapshot with its indexes.
pub(super) struct Context<'a> {
    pub(super) snapshot: &'a ClusterSnapshot,
    pub(super) now: Timestamp,
    pub(super) jobs: Jobs<'a>,
    events: HashMap<ObjectKey<'a>, Vec<&'a EventRecord>>,
    /// Events of the objects of each workload, its pods excepted.
    job_events: HashMap<ObjectKey<'a>, Vec<&'a EventRecord>>,
    nodes: HashMap<&'a str, &'a NodeRecord>,
    namespaces: HashMap<&'a str, &'a NamespaceRecord>,
    services: HashMap<(&'a str, &'a str), &'a ServiceRecord>,
    claims: HashMap<(&'a str, &'a str), &'a ClaimRecord>,
    pod_groups: HashMap<(GangApi, &'a str, &'a str), &'a PodGroupRecord>,
    /// A `PodGroup` of each workload that owns one.
    job_groups: HashMap<ObjectKey<'a>, &'a PodGroupRecord>,
    pods_by_namespace: HashMap<&'a str, Vec<&'a PodRecord>>,
    pods_by_node: HashMap<&'a str, Vec<&'a PodRecord>>,
    /// Namespaces and names of all pods.
    pod_names: HashSet<(&'a str, &'a str)>,
    /// Workloads of Kueue by their owners.
    queue_workloads: HashMap<ObjectKey<'a>, &'a QueueRecord>,
    /// Jobs that own a Workload of Kueue, or whose objects own one.
    queued: HashSet<ObjectKey<'a>>,
    /// Workloads of Kueue without a controlling owner by their namespaces and names: those of groups of pods without a job.
    queue_groups: HashMap<(&'a str, &'a str), &'a QueueRecord>,
    /// Workloads of a snapshot without pods of which an object, such as the Job of a `JobSet`, reports some.
    with_pods: HashSet<ObjectKey<'a>>,
    /// Extended resources of all nodes.
    offered: HashSet<&'a str>,
    /// Logs by the names of their pods.
    logs: HashMap<&'a str, Vec<&'a ContainerLog>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(snapshot: &'a ClusterSnapshot, now: Timestamp) -> Self {
        let jobs = Jobs::new(snapshot);
        let mut events: HashMap<ObjectKey<'a>, Vec<&'a EventRecord>> = HashMap::new();
        let mut job_events: HashMap<ObjectKey<'a>, Vec<&'a EventRecord>> = HashMap::new();
        for event in &snapshot.events {
            let about = &event.about;
            let namespace = if &*about.kind == "Node" { "" } else { &*event.namespace };
            let key = about.key(namespace);
            events.entry(key).or_default().push(event);
            if &*about.kind != POD {
                job_events.entry(jobs.outermost(key)).or_default().push(event);
            }
        }
        let mut pods_by_node: HashMap<&'a str, Vec<&'a PodRecord>> = HashMap::new();
        let mut pods_by_namespace: HashMap<&'a str, Vec<&'a PodRecord>> = HashMap::new();
        for pod in &snapshot.pods {
            pods_by_namespace.entry(&pod.namespace).or_default().push(pod);
            if let Some(node) = pod.node.as_deref() {
                pods_by_node.entry(node).or_default().push(pod);
            }
        }
        let nodes = snapshot.nodes.iter().map(|node| (&*node.name, &**node)).collect();
        let namespaces = snapshot.namespaces.iter().map(|namespace| (&*namespace.name, namespace)).collect();
        let services = snapshot.services.iter();
        let services = services.map(|service| ((&*service.namespace, &*service.name), service)).collect();
        let claims = snapshot.claims.iter().map(|claim| ((&*claim.namespace, &*claim.name), claim)).collect();
        let pod_groups = snapshot.pod_groups.iter();
        let pod_groups = pod_groups.map(|group| ((group.api, &*group.namespace, &*group.name), group)).collect();
        let mut job_groups = HashMap::new();
        for group in &snapshot.pod_groups {
            for owner in &group.owners {
                job_groups.entry(jobs.outermost(owner.key(&group.namespace))).or_insert(group);
            }
        }
        let pod_names = snapshot.pods.iter().map(|pod| (&*pod.namespace, &*pod.name)).collect();
        let by_owner = |queue: &'a QueueRecord| Some((queue.owner.as_ref()?.key(&queue.namespace), queue));
        let queue_workloads: HashMap<ObjectKey<'a>, &'a QueueRecord> =
            snapshot.queue_workloads.iter().filter_map(by_owner).collect();
        let queued = queue_workloads.keys().map(|owner| jobs.outermost(*owner)).collect();
        let without_owner = snapshot.queue_workloads.iter().filter(|queue| queue.owner.is_none());
        let mut logs: HashMap<&'a str, Vec<&'a ContainerLog>> = HashMap::new();
        for log in &snapshot.logs {
            logs.entry(&log.name.pod).or_default().push(log);
        }
        let running = snapshot.workloads.iter().filter(|workload| !snapshot.has_pods() && workload.runs());
        let with_pods = running.map(|workload| jobs.outermost(workload.key())).collect();
        Self {
            snapshot,
            now,
            with_pods,
            jobs,
            events,
            job_events,
            nodes,
            namespaces,
            services,
            claims,
            pod_groups,
            job_groups,
            pods_by_namespace,
            pods_by_node,
            pod_names,
            queue_workloads,
            queued,
            queue_groups: without_owner.map(|queue| ((&*queue.namespace, &*queue.name), queue)).collect(),
            offered: snapshot.nodes.iter().flat_map(|node| node.devices.iter().map(|name| &**name)).collect(),
            logs,
        }
    }

    /// Returns the logs of a pod's containers. One without a namespace belongs to every pod of its name.
    pub(super) fn logs<'b>(&'b self, pod: &'b PodRecord) -> impl Iterator<Item = &'a ContainerLog> + 'b {
        let logs = self.logs.get(&*pod.name).into_iter().flatten().copied();
        logs.filter(|log| log.name.namespace.as_ref().is_none_or(|namespace| *namespace == pod.namespace))
    }

    /// Returns true if a log was read.
    pub(super) fn has_logs(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Returns the events of a pod.
    pub(super) fn pod_events<'b>(&'b self, pod: &'b PodRecord) -> &'b [&'b EventRecord] {
        first(self.events.get(&ObjectKey::new(POD, &pod.namespace, &pod.name)), MAX_EVENTS)
    }

    /// Returns the newest event of a pod with one of `reasons`. Those of an earlier pod of its name do not count.
    pub(super) fn newest_pod_event<'b>(&'b self, pod: &'b PodRecord, reasons: &[&str]) -> Option<&'b EventRecord> {
        let is_own = |event: &&EventRecord| event.last.is_some() && event.last >= pod.created;
        let events = self.pod_events(pod).iter().copied().filter(is_own);
        events.filter(|event| reasons.contains(&&*event.reason)).max_by_key(|event| event.last)
    }

    /// Returns the events of a `PodGroup`.
    pub(super) fn group_events<'b>(&'b self, group: &'b PodGroupRecord) -> &'b [&'b EventRecord] {
        first(self.events.get(&ObjectKey::new("PodGroup", &group.namespace, &group.name)), MAX_EVENTS)
    }

    /// Returns the events of a node.
    pub(super) fn node_events<'b>(&'b self, node: &'b str) -> &'b [&'b EventRecord] {
        first(self.events.get(&ObjectKey::new("Node", "", node)), MAX_EVENTS)
    }

    /// Returns the events of a workload and of the objects that it owns.
    pub(super) fn job_events<'b>(&'b self, job: &'b Job<'_>) -> &'b [&'b EventRecord] {
        self.job_events.get(&job.key).map_or(&[], Vec::as_slice)
    }

    /// Returns the `PodGroup` that a job owns.
    pub(super) fn job_group(&self, job: &Job<'_>) -> Option<&'a PodGroupRecord> {
        self.job_groups.get(&job.key).copied()
    }

    /// Returns the Workload of Kueue that a job owns.
    pub(super) fn queue_workload<'b>(&'b self, job: &'b Job<'_>) -> Option<&'b QueueRecord> {
        self.queue_workloads.get(&job.key).copied()
    }

    /// Returns true if the job or one of its objects owns a Workload of Kueue.
    pub(super) fn is_queued(&self, job: &Job<'_>) -> bool {
        self.queued.contains(&job.key)
    }

    /// Returns the Workload of Kueue for the group of pods without a job to which `pod` belongs.
    pub(super) fn queue_group(&self, pod: &PodRecord) -> Option<&'a QueueRecord> {
        let group = pod.labels.value(KUEUE_GROUP)?;
        self.queue_groups.get(&(&*pod.namespace, group)).copied()
    }

    /// Returns true if the snapshot has no pods although an object of the job reports some, so that it is not complete.
    pub(super) fn misses_pods(&self, job: &Job<'_>) -> bool {
        self.with_pods.contains(&job.key)
    }

    /// Returns true if a pod exists, or may exist.
    pub(super) fn has_pod(&self, namespace: &str, name: &str) -> bool {
        self.pod_names.contains(&(namespace, name)) || self.snapshot.other_pods.may_contain(namespace, name)
    }

    /// Returns true if pods that are not diagnosed name a `PodGroup`, or may name it.
    pub(super) fn has_other_members(&self, group: &PodGroupRecord) -> bool {
        self.snapshot.other_pods.may_name(group.api, &group.namespace, &group.name)
    }

    pub(super) fn node(&self, name: &str) -> Option<&'a NodeRecord> {
        self.nodes.get(name).copied()
    }

    pub(super) fn namespace(&self, name: &str) -> Option<&'a NamespaceRecord> {
        self.namespaces.get(name).copied()
    }

    /// Returns a Service.
    pub(super) fn service(&self, namespace: &str, name: &str) -> Option<&'a ServiceRecord> {
        self.services.get(&(namespace, name)).copied()
    }

    /// Returns a `ResourceClaim`.
    pub(super) fn claim(&self, namespace: &str, name: &str) -> Option<&'a ClaimRecord> {
        self.claims.get(&(namespace, name)).copied()
    }

    /// Returns a `PodGroup`.
    pub(super) fn pod_group(&self, api: GangApi, namespace: &str, name: &str) -> Option<&'a PodGroupRecord> {
        self.pod_groups.get(&(api, namespace, name)).copied()
    }

    /// Returns true if a node offers `resource`, or the snapshot lacks the nodes.
    pub(super) fn may_offer(&self, resource: &str) -> bool {
        let is_complete = self.snapshot.is_complete(ObjectKind::Node, "");
        !is_complete || self.offered.contains(resource)
    }

    /// Returns the pods of a namespace.
    pub(super) fn pods_of_namespace(&self, namespace: &str) -> &[&'a PodRecord] {
        self.pods_by_namespace.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the snapshot proves that a node does not exist.
    pub(super) fn is_node_gone(&self, name: &str) -> bool {
        self.snapshot.confirms_node(name) && !self.nodes.contains_key(name)
    }

    /// Returns the pods of a node, finished ones included.
    pub(super) fn pods_of_node<'b>(&'b self, name: &'b str) -> &'b [&'b PodRecord] {
        first(self.pods_by_node.get(name), MAX_NODE_PODS)
    }
}

/// Returns the first `limit` items.
fn first<T>(items: Option<&Vec<T>>, limit: usize) -> &[T] {
    items.map_or(&[], |items| &items[..items.len().min(limit)])
}

/// Returns the evidence that a container terminated.
pub(super) fn termination_evidence(
    pod: &PodRecord,
    container: &ContainerRecord,
    ended: &TerminationRecord,
) -> Evidence {
    Evidence::new(pod.title(), container.termination_field(), &ended.summary(), ended.finished)
}

/// Returns evidence from an event.
pub(super) fn event_evidence(event: &EventRecord) -> Evidence {
    let about = &event.about;
    let object = if &*about.kind == "Node" {
        format!("Event of Node {}", about.name)
    } else {
        format!("Event of {} {}/{}", about.kind, event.namespace, about.name)
    };
    Evidence::new(object, event.reason.to_string(), &event.message, event.last)
}
