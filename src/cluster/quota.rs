//! Reads the quotas, queues and nodes that limit the pods of a job.

use std::pin::pin;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::failure::describe;
use super::list::paginate;
use super::request::{RequestError, find};
use trainmesh_core::accounting::Constraint;
use trainmesh_core::accounting::constraints::{
    cluster_queue, has_scope, largest_nodes, limit_range, pod_group, reserved_workload, resource_quota,
};
use trainmesh_core::keys::DEFAULT_QUEUE;
use trainmesh_core::lint::KueueQueue;

/// Maximum number of objects of a kind that are read.
const MAX_OBJECTS: usize = 10_000;
const KUEUE: &str = "kueue.x-k8s.io";
/// Versions of Kueue's API, the newest first.
const KUEUE_VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];
/// Groups of schedulers whose `PodGroups` reserve resources, each with its version.
const POD_GROUPS: [(&str, &str); 2] = [("scheduling.volcano.sh", "v1beta1"), ("scheduling.x-k8s.io", "v1alpha1")];

/// A workload whose constraints are read.
#[derive(Clone, Copy, Debug)]
pub struct QuotaQuery<'a> {
    /// Namespace of the workload.
    pub namespace: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Queue of Kueue that it names.
    pub queue: Option<&'a KueueQueue>,
    /// Context of the kubeconfig, if it is not the current one.
    pub context: Option<&'a str>,
}

/// Constraints of a workload.
#[derive(Clone, Debug, Default)]
pub struct QuotaFacts {
    /// Constraints, in the order in which they apply.
    pub constraints: Vec<Constraint>,
    /// Objects that could not be read, one message each.
    pub unknown: Vec<String>,
}

/// Constraint of the nodes, which is the same for all workloads; `None` without nodes. Contains the reason if it is unknown.
pub type NodeConstraint = Result<Option<Constraint>, String>;

/// Reads the constraint of the nodes of `context`.
pub async fn read_nodes(client: &Client, context: Option<&str>) -> NodeConstraint {
    match list(client, ("", "v1", "Node"), None, allocatable).await {
        Ok(nodes) => match largest_nodes(nodes.iter()) {
            None if !nodes.is_empty() => {
                Err("the nodes report no resources, or have too many different sizes to compare".to_owned())
            }
            nodes => Ok(nodes),
        },
        Err(error) => Err(describe(&error, context).await),
    }
}

/// Returns true if `namespace` has the `LocalQueue` for jobs that name none.
pub async fn has_default_queue(client: &Client, namespace: &str) -> Result<bool, RequestError> {
    for version in KUEUE_VERSIONS {
        if is_served(client, KUEUE, version).await {
            let kind = (KUEUE, version, "LocalQueue");
            return Ok(get(client, kind, Some(namespace), DEFAULT_QUEUE).await?.is_some());
        }
    }
    Ok(false)
}

/// Reads the constraints of a workload, as far as permissions allow.
pub async fn read(client: &Client, query: QuotaQuery<'_>, nodes: &NodeConstraint) -> QuotaFacts {
    let mut facts = QuotaFacts::default();
    let namespace = Some(query.namespace);
    let quotas = list(client, ("", "v1", "ResourceQuota"), namespace, whole).await;
    for quota in quotas.iter().flatten().filter(|quota| has_scope(quota)) {
        let name = quota.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        facts.unknown.push(format!("ResourceQuota {name} has a scope, and may not count the pods"));
    }
    facts.add(query, quotas, |quotas| quotas.iter().filter_map(resource_quota).collect()).await;
    let ranges = list(client, ("", "v1", "LimitRange"), namespace, whole).await;
    facts.add(query, ranges, |ranges| ranges.iter().filter_map(limit_range).collect()).await;
    if let Some(queue) = query.queue {
        facts.add_queue(client, query, queue).await;
    }
    for (group, version) in POD_GROUPS {
        let groups = list(client, (group, version, "PodGroup"), namespace, whole).await;
        let own =
            |groups: Vec<Value>| groups.iter().filter(|group| is_owned(group, query)).filter_map(pod_group).collect();
        facts.add(query, groups, own).await;
    }
    match nodes {
        Ok(nodes) => facts.constraints.extend(nodes.clone()),
        Err(reason) => facts.unknown.push(reason.clone()),
    }
    facts
}

impl QuotaFacts {
    async fn add<T>(
        &mut self,
        query: QuotaQuery<'_>,
        read: Result<T, RequestError>,
        constraints: impl FnOnce(T) -> Vec<Constraint>,
    ) {
        match read {
            Ok(found) => self.constraints.extend(constraints(found)),
            Err(error) => self.unknown.push(describe(&error, query.context).await),
        }
    }

    async fn add_queue(&mut self, client: &Client, query: QuotaQuery<'_>, queue: &KueueQueue) {
        let [newest, former] = KUEUE_VERSIONS;
        let version = if is_served(client, KUEUE, newest).await { newest } else { former };
        let kind = |kind: &'static str| (KUEUE, version, kind);
        let missing = |kind: &str, name: &str| format!("{kind} {name} does not exist: Kueue does not admit the job");
        let name = match get(client, kind("LocalQueue"), Some(query.namespace), &queue.name).await {
            Ok(Some(local)) => {
                local.pointer("/spec/clusterQueue").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            Ok(None) => return self.unknown.push(missing("LocalQueue", &queue.name)),
            Err(error) => return self.unknown.push(describe(&error, query.context).await),
        };
        match get(client, kind("ClusterQueue"), None, &name).await {
            Ok(Some(found)) => self.constraints.extend(cluster_queue(&found, queue.counts)),
            Ok(None) => self.unknown.push(missing("ClusterQueue", &name)),
            Err(error) => self.unknown.push(describe(&error, query.context).await),
        }
        let workloads = list(client, kind("Workload"), Some(query.namespace), whole).await;
        let reserved = |workload: &Value| reserved_workload(workload, queue.counts);
        let own = |workloads: Vec<Value>| {
            workloads.iter().filter(|workload| is_owned(workload, query)).filter_map(reserved).collect()
        };
        self.add(query, workloads, own).await;
    }
}

/// Returns true if the workload owns `object`.
fn is_owned(object: &Value, query: QuotaQuery<'_>) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let is = |owner: &Value, key: &str, value: &str| owner.get(key).and_then(Value::as_str) == Some(value);
    owners.into_iter().any(|owner| is(owner, "kind", query.kind) && is(owner, "name", query.name))
}

/// Returns an object; `None` if it does not exist.
async fn get(
    client: &Client,
    kind: (&str, &str, &str),
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Value>, RequestError> {
    let api = api(client, &resource(kind), namespace);
    let found = find(&format!("read {} {name}", kind.2), api.get(name)).await?;
    Ok(found.map(|found| serde_json::to_value(found).unwrap_or_default()))
}

/// Returns true if the cluster serves a version of an API group. Discovery is permitted to all users, but objects of an API
/// that is not installed are forbidden to most.
async fn is_served(client: &Client, group: &str, version: &str) -> bool {
    let api = format!("{group}/{version}");
    let discovered = client.list_api_group_resources(&api);
    !matches!(find("discover the API", discovered).await, Ok(None))
}

fn whole(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Returns what is compared of a node, which is a small part of it.
fn allocatable(node: &DynamicObject) -> Value {
    json!({"status": {"allocatable": node.data.pointer("/status/allocatable")}})
}

/// Lists the objects of a kind, each as `reduce` returns it; none if the cluster does not serve it.
async fn list(
    client: &Client,
    kind: (&str, &str, &str),
    namespace: Option<&str>,
    reduce: fn(&DynamicObject) -> Value,
) -> Result<Vec<Value>, RequestError> {
    let (group, version, _) = kind;
    if !group.is_empty() && !is_served(client, group, version).await {
        return Ok(Vec::new());
    }
    let resource = resource(kind);
    let api = &api(client, &resource, namespace);
    let suffix = if group.is_empty() { String::new() } else { format!(".{group}") };
    let step = format!("list {}{suffix}", resource.plural);
    let objects = paginate(step, ListParams::default(), |parameters| async move { api.list(&parameters).await });
    let objects = pin!(objects.take(MAX_OBJECTS));
    objects.map_ok(|object| reduce(&object)).try_collect().await
}

fn resource((group, version, kind): (&str, &str, &str)) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn api(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}
