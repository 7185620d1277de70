//! Reads objects as the records of their kinds, and adds these to a snapshot.
//!
//! Reading takes longer than adding and changes nothing, so that several threads can read.

use std::sync::Arc;

use serde_json::Value;

use super::claim::ClaimRecord;
use super::event::EventRecord;
use super::gang_key::{GangApi, PodGroupRecord};
use super::namespace::NamespaceRecord;
use super::node::NodeRecord;
use super::peer_authentication::PeerAuthenticationRecord;
use super::pod::{POD, PodRecord};
use super::read::{MAX_NAME, name, truncate};
use super::repeats::ObjectKey;
use super::service::ServiceRecord;
use super::workload::{QueueRecord, WorkloadRecord};
use super::{ClusterSnapshot, ObjectKind, SnapshotError};
use crate::config::Termination;
use crate::lifecycle::SidecarCatalog;

/// Reads objects.
#[derive(Debug)]
pub struct ObjectReader {
    settings: Termination,
    catalog: SidecarCatalog,
}

/// An object, reduced to the fields that the checks read.
#[derive(Debug)]
pub struct ObjectRecord {
    key: ObjectKey,
    namespace: Box<str>,
    content: Content,
    /// True for an item of a list.
    is_item: bool,
}

/// The fields of an object by its kind.
#[derive(Debug)]
enum Content {
    Pod(Box<PodRecord>),
    Event(EventRecord),
    Node(Arc<NodeRecord>),
    Namespace(NamespaceRecord),
    Service(ServiceRecord),
    Claim(ClaimRecord),
    PeerAuthentication(PeerAuthenticationRecord),
    PodGroup(PodGroupRecord),
    QueueWorkload(QueueRecord),
    Workload(Box<WorkloadRecord>),
}

impl ObjectReader {
    /// Creates a reader. `settings` determine which containers are proxies and sidecars.
    pub(super) fn new(settings: Termination) -> Self {
        let catalog = SidecarCatalog::new(&settings);
        Self { settings, catalog }
    }

    /// Reads an object; `None` if no check reads its kind. `namespace` is that of objects without one.
    #[must_use]
    pub fn read(&self, object: &Value, namespace: &str) -> Option<ObjectRecord> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let content = match (group, kind) {
            ("", POD) => Content::Pod(Box::new(PodRecord::read(object, namespace, &self.settings, &self.catalog))),
            ("" | "events.k8s.io", "Event") => Content::Event(EventRecord::read(object, namespace)?),
            ("", "Node") => Content::Node(Arc::new(NodeRecord::read(object))),
            ("", "Namespace") => Content::Namespace(NamespaceRecord::read(object)),
            ("", "Service") => Content::Service(ServiceRecord::read(object, namespace)),
            ("resource.k8s.io", "ResourceClaim") => Content::Claim(ClaimRecord::read(object, namespace)),
            ("security.istio.io", "PeerAuthentication") => {
                Content::PeerAuthentication(PeerAuthenticationRecord::read(object, namespace))
            }
            (group, "PodGroup") => {
                Content::PodGroup(PodGroupRecord::read(object, namespace, GangApi::of_group(group)?))
            }
            ("kueue.x-k8s.io", "Workload") => Content::QueueWorkload(QueueRecord::read(object, namespace)),
            _ => Content::Workload(Box::new(WorkloadRecord::read(object, namespace, api_version, kind)?)),
        };
        // The namespaces of cluster-scoped objects do not distinguish them.
        let scope = if matches!(content, Content::Node(_) | Content::Namespace(_)) { "" } else { namespace };
        let own_namespace = name(object, "/metadata/namespace").unwrap_or_else(|| truncate(namespace, MAX_NAME));
        let key = ObjectKey::read(object, group, kind, scope);
        Some(ObjectRecord { key, namespace: own_namespace, content, is_item: false })
    }
}

impl ObjectRecord {
    /// Records that the object is an item of a list, which usually contains all objects of its kind and namespace.
    pub fn mark_item(&mut self) {
        self.is_item = true;
    }

    /// Returns the kind and namespace of an object whose absence is evidence in a complete list.
    pub(super) fn listed(&self) -> Option<(ObjectKind, Box<str>)> {
        let kind = match &self.content {
            Content::Pod(_) => ObjectKind::Pod,
            Content::Node(_) => return Some((ObjectKind::Node, "".into())),
            Content::Service(_) => ObjectKind::Service,
            Content::Claim(_) => ObjectKind::ResourceClaim,
            Content::PodGroup(group) => group.api.object_kind(),
            // One Workload alone is usually that of the job in question.
            Content::QueueWorkload(_) if self.is_item => ObjectKind::QueueWorkload,
            Content::Event(_)
            | Content::Namespace(_)
            | Content::PeerAuthentication(_)
            | Content::QueueWorkload(_)
            | Content::Workload(_) => return None,
        };
        Some((kind, self.namespace.clone()))
    }
}

impl ClusterSnapshot {
    /// Adds a record. Of several versions of an object, the newest counts.
    pub(super) fn insert(&mut self, object: ObjectRecord) -> Result<(), SnapshotError> {
        let ObjectRecord { key, content, .. } = object;
        match content {
            Content::Pod(pod) => {
                pod.times().for_each(|time| self.record(Some(time)));
                self.index.slot(key, self.pods.len()).put(&mut self.pods, *pod);
            }
            Content::Event(event) => {
                self.record(event.last);
                self.index.slot(key, self.events.len()).put(&mut self.events, event);
            }
            Content::Node(node) => {
                self.record_conditions(&node.conditions);
                self.index.slot(key, self.nodes.len()).put(&mut self.nodes, node);
            }
            Content::Namespace(namespace) => {
                self.index.slot(key, self.namespaces.len()).put(&mut self.namespaces, namespace);
            }
            Content::Service(service) => {
                self.index.slot(key, self.services.len()).put(&mut self.services, service);
            }
            Content::Claim(claim) => self.index.slot(key, self.claims.len()).put(&mut self.claims, claim),
            Content::PeerAuthentication(policy) => {
                let length = self.peer_authentications.len();
                self.index.slot(key, length).put(&mut self.peer_authentications, policy);
            }
            Content::PodGroup(group) => {
                self.record_conditions(&group.conditions);
                self.record(group.created);
                self.index.slot(key, self.pod_groups.len()).put(&mut self.pod_groups, group);
            }
            Content::QueueWorkload(queue) => {
                self.record_conditions(&queue.conditions);
                self.index.slot(key, self.queue_workloads.len()).put(&mut self.queue_workloads, queue);
            }
            Content::Workload(workload) => {
                self.record_conditions(&workload.conditions);
                self.record(workload.created);
                self.index.slot(key, self.workloads.len()).put(&mut self.workloads, *workload);
            }
        }
        self.count_object()
    }
}
