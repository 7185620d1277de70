//! The `PodGroup` as JSON: what is created and patched, and what is read of an existing one.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::decide::{common, common_topology};
use super::{GroupApi, GroupState, NewGroup, SchedulingTerms};
use crate::gang::{Gang, GangOwner};
use crate::keys;
use crate::pod::Pod;

/// Value of the label [`keys::MANAGED`] of the objects that the controller created.
const MANAGED: &str = "true";
/// Annotation with the time at which the scheduler was last made to try rejected pods again.
const RETRIED: &str = "trainmesh.dev/retried";

/// Namespace and name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupName<'a> {
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
}

/// Returns the object that the controller creates for `gang` in `namespace`, once the pods like `pods` exist.
#[must_use]
pub fn planned_manifest(api: GroupApi, namespace: &str, gang: &Gang<'_>, pods: &[Pod<'_>]) -> Value {
    let terms: Vec<SchedulingTerms> = pods.iter().map(|pod| SchedulingTerms::read(*pod)).collect();
    let minimum = u32::try_from(gang.min_members).unwrap_or(u32::MAX);
    let group = NewGroup {
        minimum: Some(minimum),
        owned: true,
        priority_class: common(terms.iter().map(|terms| &*terms.priority_class)),
        queue: common(terms.iter().map(|terms| &*terms.queue)),
        topology: common_topology(terms.iter()),
        release: None,
    };
    manifest(api, GroupName { namespace, name: &gang.name }, &group, Some(gang.owner))
}

/// Returns the object to create; `owner` is the job, if it is known.
#[must_use]
pub fn manifest(api: GroupApi, name: GroupName<'_>, group: &NewGroup, owner: Option<&GangOwner>) -> Value {
    let owners: Vec<Value> = owner.map(owner_reference).into_iter().collect();
    json!({
        "apiVersion": api.api_version(),
        "kind": GroupApi::KIND,
        "metadata": {
            "name": name.name,
            "namespace": name.namespace,
            "labels": {(keys::MANAGED): MANAGED},
            "ownerReferences": owners,
        },
        "spec": spec(api, group),
    })
}

fn spec(api: GroupApi, group: &NewGroup) -> Value {
    // Without `minResources`: they would be those of the template, or of pods that differ. Schedulers that find it add up
    // the pods themselves.
    let NewGroup { minimum, owned: _, priority_class, queue, topology, release: _ } = group;
    let mut spec = Map::new();
    match api {
        GroupApi::NativeV1Alpha2 | GroupApi::NativeV1Beta1 => {
            let policy = minimum.map_or_else(|| json!({"basic": {}}), |minimum| json!({"gang": {"minCount": minimum}}));
            spec.insert("schedulingPolicy".to_owned(), policy);
        }
        GroupApi::Volcano | GroupApi::Coscheduling => {
            spec.insert("minMember".to_owned(), minimum.unwrap_or(1).into());
        }
    }
    let has_priority = api != GroupApi::Coscheduling;
    let optional = [("priorityClassName", priority_class, has_priority), ("queue", queue, api == GroupApi::Volcano)];
    for (field, value, exists) in optional {
        if exists && !value.is_empty() {
            spec.insert(field.to_owned(), (**value).into());
        }
    }
    if let Some(topology) = topology.filter(|_| api == GroupApi::Volcano) {
        spec.insert("networkTopology".to_owned(), topology.to_json());
    }
    Value::Object(spec)
}

/// Returns the merge patch that changes the minimum of the object with this UID and version.
#[must_use]
pub fn minimum_patch(api: GroupApi, uid: &str, resource_version: &str, minimum: u32) -> Value {
    let fields = api.minimum_pointer().split('/').filter(|field| !field.is_empty());
    let mut patch = fields.rev().fold(Value::from(minimum), |inner, field| json!({field: inner}));
    patch["metadata"] = json!({"uid": uid, "resourceVersion": resource_version});
    patch
}

/// Returns the merge patch that changes the object with this UID without an effect on its gang.
#[must_use]
pub fn retry_patch(uid: &str, now: Timestamp) -> Value {
    json!({"metadata": {"uid": uid, "annotations": {(RETRIED): now.to_string()}}})
}

/// Reads the state of an existing object.
#[must_use]
pub fn read_group(api: GroupApi, object: &Value) -> GroupState {
    let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(keys::MANAGED));
    if label.and_then(Value::as_str) != Some(MANAGED) {
        return GroupState::Foreign;
    }
    let minimum = group_minimum(api, object);
    let deletion = object.pointer("/metadata/deletionTimestamp");
    GroupState::Own {
        minimum: minimum.map(|minimum| u32::try_from(minimum).unwrap_or(u32::MAX)),
        deleting: deletion.is_some_and(|time| !time.is_null()),
    }
}

/// Returns the minimum of an existing object; `None` if its pods are scheduled one by one.
#[must_use]
pub fn group_minimum(api: GroupApi, object: &Value) -> Option<u64> {
    object.pointer(api.minimum_pointer()).and_then(Value::as_u64)
}

/// Returns the reference to an owner. It contains neither `controller`, with which Kubernetes 1.36 forbids to scale the job,
/// nor `blockOwnerDeletion`, which requires a permission on the job.
fn owner_reference(owner: &GangOwner) -> Value {
    let GangOwner { api_version, kind, name, uid } = owner;
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid})
}
