//! Workloads that own pods, for the rules `gang`, `mesh.traffic` and `checkpoint`: one bounded GET for each, shared by concurrent reviews and kept for a
//! short time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use kube::api::ApiResource;
use kube::core::params::GetParams;
use kube::core::{DynamicObject, GroupVersionKind, Request};
use kube::{Client, Resource as _};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::request::is_not_found;
use crate::bucket::Bucket;
use trainmesh_core::error::chain;
use trainmesh_core::gang::{GangWorkload, UnknownGang, WorkloadKey};
use trainmesh_core::pod::Pod;

/// Time limit of a lookup, including the time in the queue. A review that waits longer delays the creation of the pod.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which a workload is kept. Operators create the pods of a job within seconds; a later one sees the scaled
/// workload.
const LIFETIME: Duration = Duration::from_secs(10);
/// Time for which a failure is kept, so that the pods of a job do not repeat it at once. Like [`LIFETIME`], it starts with
/// the lookup.
const FAILURE_LIFETIME: Duration = Duration::from_secs(4);
/// Lookups per second and burst: any client that reaches the webhook can name workloads. More jobs are not created in
/// clusters of thousands of nodes.
const RATE: (u32, u32) = (100, 500);
/// Maximum number of concurrent requests, each of which holds a parsed workload.
const REQUESTS: usize = 4;
/// Maximum number of kept workloads, of a few KiB each.
const MAX_ENTRIES: usize = 2_048;
/// Maximum length of the JSON text of a workload, in bytes. Parsed, it takes many times as much memory; real ones have a
/// tenth of this.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum length of the UID of a controller, in bytes. The apiserver creates those with 36.
const MAX_UID: usize = 64;

/// A workload, or why it could not be read.
pub type LookedUp = Result<Arc<GangWorkload>, Arc<UnknownGang>>;

/// Identifies what is looked up for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LookupKey {
    /// The workload.
    pub workload: WorkloadKey,
    /// UID of the pod's controller, if the pod does not contain that of the workload, as those of a LeaderWorkerSet. A
    /// workload that is created again under its name has new controllers, too.
    controller: Option<String>,
}

/// Source of workloads.
pub trait Workloads: Send + Sync {
    /// Returns the workload if it is known.
    fn cached(&self, key: &LookupKey) -> Option<LookedUp>;

    /// Reads the workload with at most one bounded request.
    fn look_up(&self, key: LookupKey) -> BoxFuture<'static, LookedUp>;
}

/// Recently read workloads.
pub struct WorkloadCache {
    client: Client,
    entries: Mutex<HashMap<LookupKey, Entry>>,
    rate: Bucket,
    requests: Arc<Semaphore>,
}

struct Entry {
    lookup: Shared<BoxFuture<'static, LookedUp>>,
    started: Instant,
}

impl LookupKey {
    /// Creates the key of `workload`, that of `pod`.
    #[must_use]
    pub fn new(workload: WorkloadKey, pod: Pod<'_>) -> Self {
        let controller = pod.controller().filter(|_| workload.uid.is_none()).and_then(|owner| owner.uid);
        let controller = controller.filter(|uid| uid.len() <= MAX_UID).map(str::to_owned);
        Self { workload, controller }
    }
}

impl WorkloadCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let (rate, burst) = RATE;
        Self {
            client,
            entries: Mutex::default(),
            rate: Bucket::new(rate, burst),
            requests: Arc::new(Semaphore::new(REQUESTS)),
        }
    }
}

impl Workloads for WorkloadCache {
    fn cached(&self, key: &LookupKey) -> Option<LookedUp> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|entry| entry.is_fresh())?.lookup.peek().cloned()
    }

    fn look_up(&self, key: LookupKey) -> BoxFuture<'static, LookedUp> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(&key).filter(|entry| entry.is_fresh()) {
            return entry.lookup.clone().boxed();
        }
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, entry| entry.is_fresh());
        }
        if entries.len() >= MAX_ENTRIES || !self.rate.try_take() {
            return async { Err(unreadable("too many workloads are being read")) }.boxed();
        }
        let (client, requests) = (self.client.clone(), Arc::clone(&self.requests));
        let wanted = key.workload.clone();
        let lookup = async move {
            let read = async {
                let _permit = requests.acquire().await.map_err(|error| UnknownGang::Object(chain(&error)))?;
                read(&client, &wanted).await
            };
            match timeout(TIMEOUT, read).await {
                Ok(Ok(workload)) => Ok(Arc::new(workload)),
                Ok(Err(problem)) => Err(problem.into()),
                Err(_) => Err(unreadable(&format!("no response within {TIMEOUT:?}"))),
            }
        };
        // A task: a review that is dropped before its lookup ends would otherwise leave it with its permit.
        let lookup = tokio::spawn(lookup).map(|result| result.unwrap_or_else(|error| Err(unreadable(&chain(&error)))));
        let lookup = lookup.boxed().shared();
        entries.insert(key, Entry { lookup: lookup.clone(), started: Instant::now() });
        lookup.boxed()
    }
}

impl Entry {
    /// Returns true while the result is awaited or may be used.
    fn is_fresh(&self) -> bool {
        let lifetime = match self.lookup.peek() {
            // Its reviews may all have been dropped.
            None => TIMEOUT,
            Some(Ok(_)) => LIFETIME,
            Some(Err(_)) => FAILURE_LIFETIME,
        };
        self.started.elapsed() < lifetime
    }
}

fn unreadable(problem: &str) -> Arc<UnknownGang> {
    Arc::new(UnknownGang::Object(problem.to_owned()))
}

async fn read(client: &Client, key: &WorkloadKey) -> Result<GangWorkload, UnknownGang> {
    let failed = |error: &dyn std::error::Error| UnknownGang::Object(chain(error));
    let kind = GroupVersionKind::gvk(key.group, key.version, key.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, key.resource);
    let request = Request::new(DynamicObject::url_path(&resource, Some(&key.namespace)));
    let request = request.get(&key.name, &GetParams::default()).map_err(|error| failed(&error))?;
    let text = client.request_text(request).await.map_err(|error| match error {
        kube::Error::Api(status) if is_not_found(&status) => {
            UnknownGang::Object(format!("{} {} does not exist", key.kind, key.name))
        }
        error => failed(&error),
    })?;
    if text.len() > MAX_BYTES {
        let problem = format!("{} {} is larger than {} KiB", key.kind, key.name, MAX_BYTES / 1024);
        return Err(UnknownGang::Object(problem));
    }
    let object: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    GangWorkload::from_object(key, &object)
}

#[cfg(test)]
mod tests;
