//! `PodGroups`: a watch that keeps their state, and the writes of the controller.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::super::client::FIELD_MANAGER;
use super::super::index::{self, Amount, Index, Limit, Options};
use super::super::request::{RequestError, send, write};
use super::resource;
use trainmesh_core::gang::object::{GroupApi, GroupName, GroupState, minimum_patch, read_group};
use trainmesh_core::objects::WriteOutcome;

/// Time for which changes are collected. Pods wait for their object meanwhile.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Delay before forbidden objects are requested again. Until then the pods of new jobs are scheduled one by one.
const FORBIDDEN_RETRY_DELAY: Duration = Duration::from_secs(30);
/// Maximum number of known objects in a namespace, and in all. Tenants can create any number; a record takes some 300 bytes.
const MAX_GROUPS: (usize, usize) = (5_000, 50_000);
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
    /// True if a scheduler has written its status.
    pub(crate) has_status: bool,
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
        let amount = |objects| Amount { objects, size: usize::MAX };
        let limit = Limit { of_namespace: amount(MAX_GROUPS.0), of_all: amount(MAX_GROUPS.1), size_of: |_| 0 };
        Self { client, api, index: Arc::new(Index::with_limit(limit)) }
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

    /// Creates `object`. Returns `Conflict` if an object of its name exists.
    pub(crate) async fn create(&self, name: GroupName<'_>, object: Value) -> Result<WriteOutcome, RequestError> {
        let step = format!("create PodGroup {}/{}", name.namespace, name.name);
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|_| RequestError::Malformed(step.clone()))?;
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
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
        let patch = minimum_patch(self.api, &record.uid, &record.resource_version, minimum);
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        write(&step, self.namespaced(name).patch(name.name, &parameters, &Patch::Merge(patch))).await
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
        let groups = self.namespaced(name);
        let outcome = write(&step, groups.delete(name.name, &parameters)).await?;
        if !force || outcome == WriteOutcome::Conflict || !record.finalizers.iter().any(|held| held == PROTECTION) {
            return Ok(outcome);
        }
        let others: Vec<&String> = record.finalizers.iter().filter(|held| *held != PROTECTION).collect();
        let patch = json!({"metadata": {"uid": &*record.uid, "finalizers": others}});
        let step = format!("remove the finalizer of PodGroup {}/{}", name.namespace, name.name);
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        write(&step, groups.patch(name.name, &parameters, &Patch::Merge(patch))).await
    }

    fn namespaced(&self, name: GroupName<'_>) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), name.namespace, &resource(self.api))
    }
}

impl GroupRecord {
    fn read(api: GroupApi, object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        let status = object.data.get("status").and_then(Value::as_object);
        let owner = metadata.owner_references.iter().flatten().next();
        Self {
            uid: object.uid().unwrap_or_default().into(),
            resource_version: object.resource_version().unwrap_or_default().into(),
            state: serde_json::to_value(object).map_or(GroupState::Foreign, |raw| read_group(api, &raw)),
            has_status: status.is_some_and(|status| !status.is_empty()),
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
