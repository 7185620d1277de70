//! Watches of the workloads that own the pods of gangs, one for each kind of which a gang exists.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};

use super::super::index::{self, Amount, Index, Limit, Options};
use trainmesh_core::gang::{GangWorkload, WorkloadKey, WorkloadState};

/// Time for which changes are collected.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Maximum number of known workloads in a namespace, and in all; a record takes some 500 bytes, that of a completed workload
/// a tenth.
const MAX_WORKLOADS: (usize, usize) = (5_000, 30_000);

/// A kind of workload: API group, version, kind and plural.
type Kind = (&'static str, &'static str, &'static str, &'static str);

/// Known state of a workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkloadRecord {
    /// It has completed or failed, or is suspended; contains its UID.
    Inactive(WorkloadState, Box<str>),
    /// It runs.
    Active(Arc<GangWorkload>),
    /// It cannot be interpreted.
    Unknown,
}

/// A workload that was looked up.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// It is not known whether it exists.
    Unknown,
    /// It does not exist.
    Missing,
    /// It exists.
    Known(WorkloadRecord),
}

/// Workloads by kind.
#[derive(Default)]
pub(crate) struct WorkloadIndexes {
    kinds: HashMap<Kind, Arc<Index<WorkloadRecord>>>,
}

impl WorkloadIndexes {
    /// Returns the workload, and the watch to start if its kind is not watched yet.
    pub(crate) fn find(&mut self, client: &Client, key: &WorkloadKey) -> (Found, Option<BoxStream<'static, ()>>) {
        let kind = (key.group, key.version, key.kind, key.resource);
        if let Some(index) = self.kinds.get(&kind) {
            return (find(index, key), None);
        }
        let amount = |objects| Amount { objects, size: usize::MAX };
        let limit = Limit { of_namespace: amount(MAX_WORKLOADS.0), of_all: amount(MAX_WORKLOADS.1), size_of: |_| 0 };
        let index = Arc::new(Index::with_limit(limit));
        self.kinds.insert(kind, Arc::clone(&index));
        (Found::Unknown, Some(watch(client, kind, index)))
    }
}

fn find(index: &Index<WorkloadRecord>, key: &WorkloadKey) -> Found {
    index.read_known(|known| {
        let Some(known) = known else { return Found::Unknown };
        match known.objects.get(&format!("{}/{}", key.namespace, key.name)) {
            Some(record) => Found::Known(record.clone()),
            None if known.truncated.contains(&key.namespace) => Found::Unknown,
            None => Found::Missing,
        }
    })
}

fn watch(client: &Client, kind: Kind, index: Arc<Index<WorkloadRecord>>) -> BoxStream<'static, ()> {
    let (group, version, name, plural) = kind;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, name), plural);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let reduce = move |object: &DynamicObject, before: Option<&WorkloadRecord>| {
        let record = WorkloadRecord::read(kind, object);
        // Status updates repeat what is known: the memory is shared.
        Some(before.filter(|before| **before == record).cloned().unwrap_or(record))
    };
    let options = Options::optional(format!("{plural} of {group}")).with_debounce(DEBOUNCE);
    index::watch(api, index::all(), index, options, reduce).boxed()
}

impl WorkloadRecord {
    fn read((group, version, kind, resource): Kind, object: &DynamicObject) -> Self {
        let key = WorkloadKey {
            namespace: object.namespace().unwrap_or_default(),
            group,
            version,
            kind,
            resource,
            name: object.name_any(),
            uid: None,
        };
        let Ok(raw) = serde_json::to_value(object) else { return Self::Unknown };
        match GangWorkload::from_object(&key, &raw) {
            Ok(workload) if workload.state == WorkloadState::Active => Self::Active(Arc::new(workload)),
            Ok(workload) => Self::Inactive(workload.state, workload.owner.uid.into()),
            Err(_) => Self::Unknown,
        }
    }
}
