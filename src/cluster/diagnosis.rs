//! Reads the objects of a diagnosis, with the permissions of the calling user.
//!
//! Pages are reduced to a snapshot as they arrive, because the pods of a large cluster do not fit into memory. Kinds that
//! are not installed are skipped; those that the user may not read, or whose request fails, are returned by name.

mod logs;
mod nodes;
mod ras;
mod scan;

use std::collections::BTreeMap;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod, Service};
use kube::api::{ApiResource, ListParams};
use kube::core::{GroupVersionKind, ObjectList, Request};
use kube::{Client, Resource as _};
use serde_json::{Value, json};
use thiserror::Error;

use super::list::paginate;
use super::paged::read_list;
use super::request::RequestError;
use super::{failure, live};
use trainmesh_core::config::Termination;
use trainmesh_core::diagnosis::{ClusterSnapshot, ObjectKind, SnapshotError};
use trainmesh_core::workload::KINDS;

pub use logs::{ReadLogs, read_logs};
pub(crate) use nodes::WatchedNodes;
pub use ras::poll_ras;
use scan::{MAX_PODS, MAX_RELATED, MAX_UNKNOWN_NODES};
pub(crate) use scan::{NamespaceSnapshot, read_namespace};

/// Page size: 100 pods with large annotations take a few megabytes.
const PAGE: u32 = 100;
/// Kinds whose objects a diagnosis does not read: pods of them have no training job.
const SKIPPED: [&str; 6] = ["DaemonSet", "Deployment", "Pod", "ReplicaSet", "ReplicationController", "StatefulSet"];
/// A kind of schedulers and queues: group, versions with the newest first, kind, plural, and the kind whose absence is
/// evidence.
type SchedulingKind = (&'static str, &'static [&'static str], &'static str, &'static str, Option<ObjectKind>);

/// Objects of schedulers and queues, and claims for devices.
const SCHEDULING: [SchedulingKind; 7] = [
    ("scheduling.volcano.sh", &["v1beta1"], "PodGroup", "podgroups", Some(ObjectKind::VolcanoPodGroup)),
    ("scheduling.x-k8s.io", &["v1alpha1"], "PodGroup", "podgroups", Some(ObjectKind::CoschedulingPodGroup)),
    ("scheduling.run.ai", &["v2alpha2"], "PodGroup", "podgroups", Some(ObjectKind::KaiPodGroup)),
    ("scheduling.sigs.k8s.io", &["v1alpha1"], "PodGroup", "podgroups", Some(ObjectKind::KoordinatorPodGroup)),
    ("scheduling.k8s.io", &["v1beta1", "v1alpha2"], "PodGroup", "podgroups", Some(ObjectKind::NativePodGroup)),
    ("kueue.x-k8s.io", &["v1beta2", "v1beta1"], "Workload", "workloads", Some(ObjectKind::QueueWorkload)),
    (
        "resource.k8s.io",
        &["v1", "v1beta2", "v1beta1"],
        "ResourceClaim",
        "resourceclaims",
        Some(ObjectKind::ResourceClaim),
    ),
];

/// Istio's policies, which a namespace has or inherits from this one.
const ROOT_NAMESPACE: &str = "istio-system";
const PEER_AUTHENTICATION: (&str, &[&str], &str, &str) =
    ("security.istio.io", &["v1", "v1beta1"], "PeerAuthentication", "peerauthentications");

/// Error of reading a snapshot.
#[derive(Debug, Error)]
pub enum ReadError {
    /// A request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A namespace has more pods than the controller diagnoses.
    #[error("more than the limit of {MAX_PODS} pods of suspicious workloads: run trainmesh diagnose")]
    TooManyPods,
    /// A namespace has more objects of a kind than the controller reads.
    #[error("more than the limit of {MAX_RELATED} objects of a kind in the namespace")]
    TooManyObjects,
    /// The watch of nodes has not delivered them, or they must not be read. The watch logs its errors.
    #[error("the watch of nodes has not delivered them")]
    NodesUnknown,
    /// More nodes than are requested by name.
    #[error("pods name more than {MAX_UNKNOWN_NODES} nodes that do not exist; the others are not checked")]
    TooManyUnknownNodes,
    /// The cluster has more objects than the limit.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// A snapshot and what it lacks.
#[derive(Debug)]
pub struct ReadSnapshot {
    /// The objects that were read.
    pub snapshot: ClusterSnapshot,
    /// Resources that the user may not list.
    pub forbidden: Vec<String>,
    /// Resources that could not be listed for another reason, by this reason.
    pub failed: BTreeMap<String, Vec<String>>,
}

struct Reader<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    read: ReadSnapshot,
}

/// Reads the pods and workloads of `namespace`, or of all namespaces.
pub async fn read_workloads(
    client: &Client,
    namespace: Option<&str>,
    settings: Termination,
) -> Result<ReadSnapshot, ReadError> {
    let mut reader = Reader::with_pods(client, namespace, settings).await?;
    reader.list_workloads().await?;
    Ok(reader.read)
}

/// Reads the objects of `namespace`, or of all namespaces, that a diagnosis needs.
pub async fn read_snapshot(
    client: &Client,
    namespace: Option<&str>,
    settings: Termination,
) -> Result<ReadSnapshot, ReadError> {
    let mut reader = Reader::with_pods(client, namespace, settings).await?;
    reader.read_namespaces().await?;
    reader.list(&ApiResource::erase::<Event>(&()), true, None).await?;
    reader.list(&ApiResource::erase::<Node>(&()), false, Some(ObjectKind::Node)).await?;
    reader.list(&ApiResource::erase::<Service>(&()), true, Some(ObjectKind::Service)).await?;
    reader.list_workloads().await?;
    for (group, versions, kind, plural, complete) in SCHEDULING {
        reader.list_newest(group, versions, kind, plural, complete).await?;
    }
    let (group, versions, kind, plural) = PEER_AUTHENTICATION;
    reader.list_newest(group, versions, kind, plural, None).await?;
    if namespace.is_some_and(|namespace| namespace != ROOT_NAMESPACE) {
        reader.namespace = Some(ROOT_NAMESPACE);
        reader.list_newest(group, versions, kind, plural, None).await?;
    }
    Ok(reader.read)
}

/// Sets the fields that items of a list lack.
fn set_type(object: &mut Value, api_version: &str, kind: &str) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
    }
}

impl<'a> Reader<'a> {
    /// Creates a reader that has read the pods.
    async fn with_pods(
        client: &'a Client,
        namespace: Option<&'a str>,
        settings: Termination,
    ) -> Result<Self, ReadError> {
        let read =
            ReadSnapshot { snapshot: ClusterSnapshot::new(settings), forbidden: Vec::new(), failed: BTreeMap::new() };
        let mut reader = Self { client, namespace, read };
        reader.list(&ApiResource::erase::<Pod>(&()), true, Some(ObjectKind::Pod)).await?;
        Ok(reader)
    }

    /// Reads the namespaces, whose labels only select the fix of a finding: without permission, it names all causes.
    async fn read_namespaces(&mut self) -> Result<(), ReadError> {
        let snapshot = &mut self.read.snapshot;
        if let Some(name) = self.namespace {
            if let Ok(Some(found)) = live::namespace(self.client, name).await {
                let metadata = json!({"name": name, "labels": found.labels});
                snapshot.add(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}), "")?;
            }
            return Ok(());
        }
        let add = |mut object: Value| {
            set_type(&mut object, &Namespace::api_version(&()), &Namespace::kind(&()));
            Ok(snapshot.add_one(&object, "")?)
        };
        let path = Namespace::url_path(&(), None);
        match read_list(self.client, &path, "list namespaces", ListParams::default(), add).await {
            Err(ReadError::Request(_)) => Ok(()),
            result => result,
        }
    }

    /// Lists the objects of all kinds of workloads that have pods to diagnose.
    async fn list_workloads(&mut self) -> Result<(), ReadError> {
        for kind in KINDS.iter().filter(|kind| !SKIPPED.contains(&kind.kind)) {
            self.list_newest(kind.group, kind.versions, kind.kind, kind.resource, None).await?;
        }
        Ok(())
    }

    /// Lists the objects of a kind in the first version that the cluster serves.
    async fn list_newest(
        &mut self,
        group: &str,
        versions: &[&str],
        kind: &str,
        plural: &str,
        complete: Option<ObjectKind>,
    ) -> Result<(), ReadError> {
        for version in versions {
            let kind = GroupVersionKind::gvk(group, version, kind);
            let resource = ApiResource::from_gvk_with_plural(&kind, plural);
            if self.list(&resource, true, complete).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds all objects of a kind. Returns false if the cluster does not serve it.
    async fn list(
        &mut self,
        resource: &ApiResource,
        is_namespaced: bool,
        complete: Option<ObjectKind>,
    ) -> Result<bool, ReadError> {
        let namespace = self.namespace.filter(|_| is_namespaced);
        let path = kube::core::DynamicObject::url_path(resource, namespace);
        let client = self.client;
        let page = |parameters: ListParams| {
            let request = Request::new(&path).list(&parameters).map_err(kube::Error::BuildRequest);
            async move { client.request::<ObjectList<Value>>(request?).await }
        };
        let step = format!("list {}", resource.plural);
        let objects = paginate(step, ListParams::default().limit(PAGE), page);
        let mut objects = std::pin::pin!(objects);
        loop {
            match objects.try_next().await {
                Ok(Some(mut object)) => {
                    set_type(&mut object, &resource.api_version, &resource.kind);
                    self.read.snapshot.add(&object, namespace.unwrap_or_default())?;
                }
                Ok(None) => break,
                // Every apiserver has pods.
                Err(error) if error.is_not_found() && complete != Some(ObjectKind::Pod) => return Ok(false),
                // Without pods, there is nothing to diagnose.
                Err(error) if error.is_forbidden() && complete != Some(ObjectKind::Pod) => {
                    // Several groups have the same resource.
                    if !self.read.forbidden.contains(&resource.plural) {
                        self.read.forbidden.push(resource.plural.clone());
                    }
                    return Ok(true);
                }
                // Findings about the objects that could be read are still right: the kind does not count as complete.
                Err(error) if !failure::is_general(&error) && complete != Some(ObjectKind::Pod) => {
                    let resources = self.read.failed.entry(failure::brief_cause(&error)).or_default();
                    if !resources.contains(&resource.plural) {
                        resources.push(resource.plural.clone());
                    }
                    return Ok(true);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(kind) = complete {
            self.read.snapshot.mark_complete(kind, namespace);
        }
        Ok(true)
    }
}
