//! `PodGroups`: a watch that keeps their state, and the writes of the controller.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::super::client::FIELD_MANAGER;
use super::super::index::{self, Amount, Index, Limit, Options};
use super::super::list::list;
use super::super::request::{RequestError, send, write};
use super::resource;
use trainmesh_core::gang::object::{
    GroupApi, GroupName, GroupState, NewGroup, manifest, minimum_patch, read_group, retry_patch,
};
use trainmesh_core::objects::WriteOutcome;

/// Time for which changes are collected. Pods wait for their object meanwhile.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Delay before forbidden objects are requested again. Until then the pods of new jobs are scheduled one by one.
const FORBIDDEN_RETRY_DELAY: Duration = Duration::from_secs(30);
/// Maximum number of known objects in a namespace, and in all. Tenants can create any number; a record takes some 300 bytes.
const MAX_GROUPS: (usize, usize) = (5_000, 50_000);
/// Name of an object that is not stored.
const PROBE: &str = "trainmesh-dry-run";
/// Finalizer with which Kubernetes keeps an object that pods use.
const PROTECTION: &str = "scheduling.k8s.io/podgroup-protection";
/// Maximum number of finalizers of an object. Kubernetes adds one.
const MAX_FINALIZERS: usize = 8;

/// Known state of a `PodGroup`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupRecord {
    pub(crate) uid: Box<str>,
    pub(crate) resource_version: Box<str>,
    pub(crate) state: GroupState,
    /// Time at which a scheduler last wrote its status.
    pub(crate) status_written: Option<Timestamp>,
    /// The first owner: kind and name with `apiVersion` and UID.
    pub(crate) owner: Option<Box<OwnerRecord>>,
    finalizers: Box<[String]>,
}

/// Owner of a `PodGroup`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OwnerRecord {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// `PodGroups` of one API.
pub(crate) struct Groups {
    client: Client,
    pub(crate) api: GroupApi,
    pub(crate) index: Arc<Index<GroupRecord>>,
}

impl Groups {
    /// Creates an empty index; [`Self::watch`] fills it.
    pub(crate) fn new(client: Client, api: GroupApi) -> Self {
        Self::with_limits(client, api, MAX_GROUPS)
    }

    /// Creates an empty index with limits of the number of objects in a namespace, and in all.
    pub(crate) fn with_limits(client: Client, api: GroupApi, (of_namespace, of_all): (usize, usize)) -> Self {
        let amount = |objects| Amount { objects, size: usize::MAX };
        let limit = Limit { of_namespace: amount(of_namespace), of_all: amount(of_all), size_of: |_| 0 };
        Self { client, api, index: Arc::new(Index::with_limit(limit)) }
    }

    /// Returns true if an object is known that the controller created.
    pub(crate) fn any_own(&self) -> bool {
        let is_own = |record: &GroupRecord| matches!(record.state, GroupState::Own { .. });
        self.index.read(|objects| objects.is_some_and(|objects| objects.values().any(is_own)))
    }

    /// Maintains the index and yields when it has changed.
    pub(crate) fn watch(&self) -> impl Stream<Item = ()> + Send + 'static {
        let api = self.api;
        let reduce = move |object: &DynamicObject, _: Option<&GroupRecord>| Some(GroupRecord::read(api, object));
        let all = Api::all_with(self.client.clone(), &resource(api));
        let options = Options::optional(format!("PodGroups of {}", api.api_version()))
            .with_debounce(DEBOUNCE)
            .with_forbidden_retry_delay(FORBIDDEN_RETRY_DELAY);
        index::watch(all, index::all(), Arc::clone(&self.index), options, reduce).boxed()
    }

    /// Returns true if the object may exist although the index does not contain it.
    pub(crate) fn leaves_out(&self, name: GroupName<'_>) -> bool {
        self.index.read_known(|known| {
            known.is_some_and(|known| {
                known.truncated.contains(name.namespace)
                    && !known.objects.contains_key(&format!("{}/{}", name.namespace, name.name))
            })
        })
    }

    /// Reads the object, also one that the index leaves out; `None` if it does not exist.
    pub(crate) async fn find(&self, name: GroupName<'_>) -> Result<Option<GroupRecord>, RequestError> {
        let step = format!("read PodGroup {}/{}", name.namespace, name.name);
        // A list, which needs no other permission than the watch.
        let parameters = ListParams::default().fields(&format!("metadata.name={}", name.name)).limit(1);
        let found = list(&step, &self.namespaced(name), parameters).await?;
        let object = found.iter().find(|object| object.name_any() == name.name);
        Ok(object.map(|object| GroupRecord::read(self.api, object)))
    }

    /// Creates `object`. Returns `Conflict` if an object of its name exists.
    pub(crate) async fn create(&self, name: GroupName<'_>, object: Value) -> Result<WriteOutcome, RequestError> {
        let step = format!("create PodGroup {}/{}", name.namespace, name.name);
        self.post(name, object, step, false).await
    }

    /// Requests to create `group` in `namespace` as a dry run: the apiserver checks it and does not store it.
    pub(crate) async fn create_dry_run(&self, namespace: &str, group: &NewGroup) -> Result<WriteOutcome, RequestError> {
        let name = GroupName { namespace, name: PROBE };
        let step = format!("create a PodGroup in {namespace} as a dry run");
        self.post(name, manifest(self.api, name, group, None), step, true).await
    }

    async fn post(
        &self,
        name: GroupName<'_>,
        object: Value,
        step: String,
        dry_run: bool,
    ) -> Result<WriteOutcome, RequestError> {
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|_| RequestError::Malformed(step.clone()))?;
        let parameters = PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) };
        match send(&step, self.namespaced(name).create(&parameters, &object)).await {
            Ok(_) => Ok(WriteOutcome::Written),
            Err(error) if error.is_already_exists() => Ok(WriteOutcome::Conflict),
            Err(error) => Err(error),
        }
    }

    /// Changes the minimum of the object, unless it has changed since `record`.
    pub(crate) async fn set_minimum(
        &self,
        name: GroupName<'_>,
        record: &GroupRecord,
        minimum: u32,
    ) -> Result<WriteOutcome, RequestError> {
        let step = format!("change the minimum of PodGroup {}/{}", name.namespace, name.name);
        self.patch(name, &step, minimum_patch(self.api, &record.uid, &record.resource_version, minimum)).await
    }

    /// Changes the object with the UID of `record` so that its scheduler tries rejected pods again.
    pub(crate) async fn retry(
        &self,
        name: GroupName<'_>,
        record: &GroupRecord,
        now: Timestamp,
    ) -> Result<WriteOutcome, RequestError> {
        let step = format!("annotate PodGroup {}/{}", name.namespace, name.name);
        self.patch(name, &step, retry_patch(&record.uid, now)).await
    }

    /// Deletes the object with the UID of `record`. With `force`, it is removed although pods use it.
    pub(crate) async fn delete(
        &self,
        name: GroupName<'_>,
        record: &GroupRecord,
        force: bool,
    ) -> Result<WriteOutcome, RequestError> {
        let step = format!("delete PodGroup {}/{}", name.namespace, name.name);
        let preconditions = Preconditions { uid: Some(record.uid.to_string()), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        let outcome = write(&step, self.namespaced(name).delete(name.name, &parameters)).await?;
        if !force || outcome == WriteOutcome::Conflict || !record.finalizers.iter().any(|held| held == PROTECTION) {
            return Ok(outcome);
        }
        let others: Vec<&String> = record.finalizers.iter().filter(|held| *held != PROTECTION).collect();
        let step = format!("remove the finalizer of PodGroup {}/{}", name.namespace, name.name);
        self.patch(name, &step, json!({"metadata": {"uid": &*record.uid, "finalizers": others}})).await
    }

    async fn patch(&self, name: GroupName<'_>, step: &str, patch: Value) -> Result<WriteOutcome, RequestError> {
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        write(step, self.namespaced(name).patch(name.name, &parameters, &Patch::Merge(patch))).await
    }

    fn namespaced(&self, name: GroupName<'_>) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), name.namespace, &resource(self.api))
    }
}

impl GroupRecord {
    /// Reads the state of an object.
    pub(crate) fn read(api: GroupApi, object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        let owner = metadata.owner_references.iter().flatten().next();
        Self {
            uid: object.uid().unwrap_or_default().into(),
            resource_version: object.resource_version().unwrap_or_default().into(),
            state: serde_json::to_value(object).map_or(GroupState::Foreign, |raw| read_group(api, &raw)),
            status_written: status_written(object),
            owner: owner.map(|owner| {
                Box::new(OwnerRecord {
                    api_version: owner.api_version.clone(),
                    kind: owner.kind.clone(),
                    name: owner.name.clone(),
                    uid: owner.uid.clone(),
                })
            }),
            finalizers: metadata.finalizers.iter().flatten().take(MAX_FINALIZERS).cloned().collect(),
        }
    }
}

/// Returns the time at which the status of `object` was last written. The apiserver records it for each writer.
fn status_written(object: &DynamicObject) -> Option<Timestamp> {
    let status = object.data.get("status").and_then(Value::as_object);
    status.filter(|status| !status.is_empty())?;
    // Without the subresource, a writer of the status has written other fields, too.
    let writers = object.metadata.managed_fields.iter().flatten();
    let of_status = writers.filter(|writer| writer.fields_v1.as_ref().is_some_and(|it| it.0.get("f:status").is_some()));
    of_status.filter_map(|writer| writer.time.as_ref()).map(|time| time.0).max()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn writer(manager: &str, field: &str, time: &str) -> Value {
        let fields = json!({field: {"f:phase": {}}});
        json!({"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields, "time": time})
    }

    #[rstest]
    #[case::scheduler(json!({"phase": "Running"}), json!([writer("vc-scheduler", "f:status", "2026-01-02T00:00:00Z")]), Some("2026-01-02T00:00:00Z"))]
    #[case::last_writer(
        json!({"phase": "Running"}),
        json!([
            writer("a", "f:status", "2026-01-02T00:00:00Z"), writer("b", "f:status", "2026-01-03T00:00:00Z"),
            writer("trainmesh", "f:spec", "2026-01-04T00:00:00Z"),
        ]),
        Some("2026-01-03T00:00:00Z")
    )]
    #[case::spec_alone(json!({"phase": "Running"}), json!([writer("trainmesh", "f:spec", "2026-01-04T00:00:00Z")]), None)]
    #[case::empty_status(json!({}), json!([writer("a", "f:status", "2026-01-02T00:00:00Z")]), None)]
    #[case::unknown_writer(json!({"phase": "Running"}), json!(null), None)]
    fn the_time_of_the_status_is_read(#[case] status: Value, #[case] writers: Value, #[case] expected: Option<&str>) {
        let object = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "status": status,
            "metadata": {"name": "a", "namespace": "team-a", "managedFields": writers},
        });
        let record = GroupRecord::read(GroupApi::Volcano, &serde_json::from_value(object).unwrap());
        assert_eq!(record.status_written, expected.map(|time| time.parse().unwrap()));
    }
}
