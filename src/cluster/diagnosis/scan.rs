//! Reads what the controller diagnoses: the pods of suspicious workloads in a namespace, and the objects that they depend on.
//!
//! Without the pods, a scan fails. Other objects are left out if they cannot be read: the controller has permission for them
//! only while the features that use them are enabled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, Resource as _};
use serde_json::Value;
use tokio::time::timeout;

use super::nodes::WatchedNodes;
use super::{ReadError, SCHEDULING, SKIPPED, set_type};
use crate::cluster::paged::read_list;
use trainmesh_core::config::Configuration;
use trainmesh_core::diagnosis::{ClusterSnapshot, NodeRecord, ObjectKind, PodWorkload, RelatedObjects};
use trainmesh_core::error::chain;
use trainmesh_core::pod;
use trainmesh_core::workload::KINDS;

/// Maximum number of pods that the controller diagnoses at once, of some 3 KB each.
pub(super) const MAX_PODS: usize = 10_000;
/// Maximum number of objects of a kind that are read besides pods.
pub(super) const MAX_RELATED: usize = 5_000;
/// Maximum number of nodes of pods that are requested by name, and of nodes to which pods are limited.
pub(super) const MAX_UNKNOWN_NODES: usize = 16;
/// Time limit for reading all objects of a kind besides pods.
const RELATED_TIMEOUT: Duration = Duration::from_secs(5);
/// Request for the pods of a namespace, in errors.
const LIST_PODS: &str = "list pods";
/// Request for a node by its name, in errors.
const FIND_NODE: &str = "list nodes";
/// Kind of MPI jobs.
const MPI_JOB: &str = "MPIJob";
/// End of the name of the Job that mpi-operator creates for a launcher.
const LAUNCHER: &str = "-launcher";

/// Objects of a namespace to diagnose.
#[derive(Debug)]
pub(crate) struct NamespaceSnapshot {
    pub(crate) snapshot: ClusterSnapshot,
    /// Objects that could not be read, with the errors. Findings that need them are not known.
    pub(crate) unread: BTreeMap<RelatedObjects, String>,
}

/// Reads objects of a namespace.
struct Scan<'a> {
    client: &'a Client,
    namespace: &'a str,
    snapshot: ClusterSnapshot,
}

/// Reads the pods of `namespace` whose workload is selected, at most [`MAX_PODS`], and the objects that they depend on.
pub(crate) async fn read_namespace(
    client: &Client,
    namespace: &str,
    config: &Configuration,
    nodes: &WatchedNodes,
    is_selected: impl Fn(&PodWorkload) -> bool,
) -> Result<NamespaceSnapshot, ReadError> {
    let mut scan = Scan { client, namespace, snapshot: ClusterSnapshot::new(config.termination.clone()) };
    scan.read_pods(&is_selected).await?;
    let mut unread = BTreeMap::new();
    for related in RelatedObjects::ALL {
        let is_permitted = match related {
            RelatedObjects::PodGroups | RelatedObjects::Workloads => config.gang.enabled,
            RelatedObjects::ResourceClaims => config.fabric.enabled && config.fabric.resource_claims,
            RelatedObjects::Nodes | RelatedObjects::PinnedNodes => true,
        };
        if !is_permitted {
            continue;
        }
        let read = async {
            match related {
                RelatedObjects::PodGroups => scan.read_named(|kind| kind != ObjectKind::ResourceClaim).await,
                RelatedObjects::Workloads => scan.read_workloads(&is_selected).await,
                RelatedObjects::ResourceClaims => scan.read_named(|kind| kind == ObjectKind::ResourceClaim).await,
                RelatedObjects::Nodes => scan.read_nodes(nodes).await,
                RelatedObjects::PinnedNodes => scan.find_pinned_nodes().await,
            }
        };
        let error = match timeout(RELATED_TIMEOUT, read).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => chain(&error),
            Err(_) => format!("not read within {RELATED_TIMEOUT:?}"),
        };
        unread.insert(related, error);
    }
    Ok(NamespaceSnapshot { snapshot: scan.snapshot, unread })
}

impl Scan<'_> {
    async fn read_pods(&mut self, is_selected: &impl Fn(&PodWorkload) -> bool) -> Result<(), ReadError> {
        let (snapshot, namespace) = (&mut self.snapshot, self.namespace);
        let path = Pod::url_path(&(), Some(namespace));
        let mut count = 0;
        let add = |mut object: Value| {
            let pod = pod::Pod::new(&object);
            if !is_selected(&PodWorkload::of(pod)) {
                snapshot.add_other_pod(pod, namespace);
                return Ok(());
            }
            if count == MAX_PODS {
                return Err(ReadError::TooManyPods);
            }
            count += 1;
            set_type(&mut object, &Pod::api_version(&()), &Pod::kind(&()));
            Ok(snapshot.add_one(&object, namespace)?)
        };
        read_list(self.client, &path, LIST_PODS, ListParams::default(), add).await?;
        self.snapshot.mark_complete(ObjectKind::Pod, Some(self.namespace));
        Ok(())
    }

    /// Reads the objects of the kinds that the pods name and `is_wanted` selects.
    async fn read_named(&mut self, is_wanted: impl Fn(ObjectKind) -> bool) -> Result<(), ReadError> {
        let named = self.snapshot.named_kinds();
        for (group, versions, kind, plural, listed) in SCHEDULING {
            let Some(listed) = listed.filter(|listed| named.contains(listed) && is_wanted(*listed)) else { continue };
            if self.read_newest((group, kind, plural), versions, |_| true).await? {
                self.snapshot.mark_complete(listed, Some(self.namespace));
            }
        }
        Ok(())
    }

    /// Reads the workloads of the pods, and the Jobs of MPI launchers, whose pods may not exist any more.
    async fn read_workloads(&mut self, is_selected: &impl Fn(&PodWorkload) -> bool) -> Result<(), ReadError> {
        let kinds: Vec<String> = self.snapshot.workload_kinds().into_iter().map(str::to_owned).collect();
        let has_kind = |wanted: &str| kinds.iter().any(|kind| kind == wanted);
        for kind in KINDS.iter().filter(|kind| kind.gang.contains_sizes() && !SKIPPED.contains(&kind.kind)) {
            let is_launcher = kind.kind == "Job" && kind.group == "batch" && has_kind(MPI_JOB);
            if !has_kind(kind.kind) && !is_launcher {
                continue;
            }
            let is_wanted = |object: &Value| {
                let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                let of_job = |job| is_launcher && is_selected(&PodWorkload::named(MPI_JOB, job));
                is_selected(&PodWorkload::named(kind.kind, name)) || name.strip_suffix(LAUNCHER).is_some_and(of_job)
            };
            self.read_newest((kind.group, kind.kind, kind.resource), kind.versions, is_wanted).await?;
        }
        Ok(())
    }

    /// Reads the objects of a kind that `is_wanted` selects, in the first version that the cluster serves. Returns false if it
    /// serves none.
    async fn read_newest(
        &mut self,
        (group, kind, plural): (&str, &str, &str),
        versions: &[&str],
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<bool, ReadError> {
        for version in versions {
            let kind = GroupVersionKind::gvk(group, version, kind);
            let resource = ApiResource::from_gvk_with_plural(&kind, plural);
            match self.read_kind(&resource, &is_wanted).await {
                Err(ReadError::Request(error)) if error.is_not_found() => {}
                result => return result.map(|()| true),
            }
        }
        Ok(false)
    }

    async fn read_kind(
        &mut self,
        resource: &ApiResource,
        is_wanted: &impl Fn(&Value) -> bool,
    ) -> Result<(), ReadError> {
        let (snapshot, namespace) = (&mut self.snapshot, self.namespace);
        let path = DynamicObject::url_path(resource, Some(namespace));
        let step = format!("list {} of {}", resource.plural, resource.group);
        let mut count = 0;
        let add = |mut object: Value| {
            if count == MAX_RELATED {
                return Err(ReadError::TooManyObjects);
            }
            count += 1;
            set_type(&mut object, &resource.api_version, &resource.kind);
            if is_wanted(&object) {
                snapshot.add_one(&object, namespace)?;
            }
            Ok(())
        };
        read_list(self.client, &path, &step, ListParams::default(), add).await
    }

    /// Adds the nodes. A watch may lag behind: before the node of a pod counts as absent, it is requested by its name.
    async fn read_nodes(&mut self, nodes: &WatchedNodes) -> Result<(), ReadError> {
        let nodes = nodes.all().ok_or(ReadError::NodesUnknown)?;
        self.snapshot.add_nodes(nodes)?;
        let unknown = self.snapshot.unknown_nodes();
        let count = unknown.len();
        let requested: BTreeSet<Box<str>> = unknown.into_iter().take(MAX_UNKNOWN_NODES).collect();
        for name in &requested {
            self.find_node(name).await?;
        }
        self.snapshot.mark_nodes_complete(&requested);
        if count > MAX_UNKNOWN_NODES { Err(ReadError::TooManyUnknownNodes) } else { Ok(()) }
    }

    /// Requests the nodes to which pods are limited by name, apart from those of pods: users can write any names. None counts as
    /// absent without the list of nodes.
    async fn find_pinned_nodes(&mut self) -> Result<(), ReadError> {
        let unknown = self.snapshot.unconfirmed_pinned_nodes();
        for name in unknown.iter().take(MAX_UNKNOWN_NODES) {
            self.find_node(name).await?;
            self.snapshot.confirm_node(name);
        }
        if unknown.len() > MAX_UNKNOWN_NODES { Err(ReadError::TooManyUnknownNodes) } else { Ok(()) }
    }

    /// Adds the node with this name, if it exists.
    async fn find_node(&mut self, name: &str) -> Result<(), ReadError> {
        let snapshot = &mut self.snapshot;
        let add =
            |object: Value| -> Result<(), ReadError> { Ok(snapshot.add_nodes([Arc::new(NodeRecord::read(&object))])?) };
        let parameters = ListParams::default().fields(&format!("metadata.name={name}"));
        read_list(self.client, &Node::url_path(&(), None), FIND_NODE, parameters, add).await
    }
}

#[cfg(test)]
mod tests;
