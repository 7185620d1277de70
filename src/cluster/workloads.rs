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

/// A workload, or why it could not be read.
pub type LookedUp = Result<Arc<GangWorkload>, Arc<UnknownGang>>;

/// Source of workloads.
pub trait Workloads: Send + Sync {
    /// Returns the workload if it is known.
    fn cached(&self, key: &WorkloadKey) -> Option<LookedUp>;

    /// Reads the workload with at most one bounded request.
    fn look_up(&self, key: WorkloadKey) -> BoxFuture<'static, LookedUp>;
}

/// Recently read workloads.
pub struct WorkloadCache {
    client: Client,
    entries: Mutex<HashMap<WorkloadKey, Entry>>,
    rate: Bucket,
    requests: Arc<Semaphore>,
}

struct Entry {
    lookup: Shared<BoxFuture<'static, LookedUp>>,
    started: Instant,
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
    fn cached(&self, key: &WorkloadKey) -> Option<LookedUp> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|entry| entry.is_fresh())?.lookup.peek().cloned()
    }

    fn look_up(&self, key: WorkloadKey) -> BoxFuture<'static, LookedUp> {
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
        let wanted = key.clone();
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
        let lookup = lookup.boxed().shared();
        entries.insert(key, Entry { lookup: lookup.clone(), started: Instant::now() });
        lookup.boxed()
    }
}

impl Entry {
    /// Returns true while the result is awaited or may be used.
    fn is_fresh(&self) -> bool {
        let lifetime = match self.lookup.peek() {
            // A lookup that nobody awaits any more does not complete.
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
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use trainmesh_core::pod::Pod;

    /// Returns the key of the Job `name`, which a pod without the UID of the Job names.
    fn key(name: &str) -> WorkloadKey {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": true, "uid": "u1"});
        let labels = json!({"batch.kubernetes.io/job-completion-index": "0"});
        let pod = json!({"metadata": {"labels": labels, "ownerReferences": [owner]}});
        WorkloadKey::of(Pod::new(&pod), "team-a").unwrap()
    }

    fn job(padding: usize) -> String {
        let spec = json!({"completionMode": "Indexed", "parallelism": 4, "completions": 4});
        json!({"metadata": {"name": "a", "uid": "u1"}, "spec": spec, "padding": "x".repeat(padding)}).to_string()
    }

    /// Starts an apiserver that gives the same response to every request, and counts them.
    async fn cache(status: &'static str, body: String) -> (WorkloadCache, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = [0; 4096];
                let read = stream.read(&mut buffer).await.unwrap();
                let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                assert!(request.starts_with("GET /apis/batch/v1/namespaces/team-a/jobs/"), "{request}");
                count.fetch_add(1, Ordering::Relaxed);
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
                let response = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(response.as_bytes()).await.unwrap();
            }
        });
        let client = Client::try_from(kube::Config::new(address.parse().unwrap())).unwrap();
        (WorkloadCache::new(client), requests)
    }

    #[tokio::test]
    async fn concurrent_lookups_share_one_request_and_its_result_is_kept() {
        let (cache, requests) = cache("200 OK", job(0)).await;
        assert!(cache.cached(&key("a")).is_none());
        let found = futures::future::join_all((0..8).map(|_| cache.look_up(key("a")))).await;
        assert!(found.iter().all(|found| found.as_ref().is_ok_and(|job| job.owner.uid == "u1")), "{found:?}");
        assert!(cache.cached(&key("a")).is_some());
        assert!(cache.look_up(key("a")).await.is_ok());
        assert_eq!(requests.load(Ordering::Relaxed), 1);
        assert!(cache.look_up(key("b")).await.is_ok());
        assert_eq!(requests.load(Ordering::Relaxed), 2, "another job");
    }

    async fn error(status: &'static str, body: String) -> String {
        let (cache, _) = cache(status, body).await;
        cache.look_up(key("a")).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_workload_that_cannot_be_read_is_unknown() {
        let status =
            |code: u16, reason: &str| json!({"kind": "Status", "code": code, "reason": reason, "message": "m"});
        let missing = error("404 Not Found", status(404, "NotFound").to_string()).await;
        assert!(missing.ends_with("Job a does not exist"), "{missing}");
        let forbidden = error("403 Forbidden", status(403, "Forbidden").to_string()).await;
        assert!(forbidden.starts_with("the workload cannot be read: "), "{forbidden}");
        let large = error("200 OK", job(MAX_BYTES)).await;
        assert!(large.ends_with("Job a is larger than 256 KiB"), "{large}");
        assert!(cache("200 OK", job(MAX_BYTES - 200)).await.0.look_up(key("a")).await.is_ok());
    }

    #[tokio::test]
    async fn the_rate_and_the_number_of_kept_workloads_are_limited() {
        let (cache, _) = cache("200 OK", job(0)).await;
        let is_limited = |name: &str| {
            let found = cache.look_up(key(name)).now_or_never();
            matches!(found, Some(Err(problem)) if problem.to_string().contains("too many workloads"))
        };
        let limited = (0..10 * MAX_ENTRIES).find(|index| is_limited(&format!("job-{index}")));
        assert!(limited.is_some_and(|index| index >= RATE.1 as usize), "{limited:?}");
        assert!(cache.entries.lock().unwrap().len() <= MAX_ENTRIES);
    }

    #[tokio::test]
    async fn results_expire() {
        for (status, lifetime) in [("200 OK", LIFETIME), ("403 Forbidden", FAILURE_LIFETIME)] {
            let (cache, requests) = cache(status, job(0)).await;
            let _ = cache.look_up(key("a")).await;
            assert!(cache.cached(&key("a")).is_some());
            cache.entries.lock().unwrap().get_mut(&key("a")).unwrap().started -= lifetime;
            assert!(cache.cached(&key("a")).is_none());
            let _ = cache.look_up(key("a")).await;
            assert_eq!(requests.load(Ordering::Relaxed), 2);
        }
    }
}
