use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Returns the key for a pod with these labels, which the Job with this name and UID controls.
fn key_of_pod(labels: &Value, job: &str, uid: &str) -> LookupKey {
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": job, "controller": true, "uid": uid});
    let pod = json!({"metadata": {"name": format!("{job}-x"), "labels": labels, "ownerReferences": [owner]}});
    LookupKey::new(WorkloadKey::of(Pod::new(&pod), "team-a").unwrap(), Pod::new(&pod))
}

/// Returns the key of the Job `name`.
fn key(name: &str) -> LookupKey {
    key_of_pod(&json!({"batch.kubernetes.io/job-completion-index": "0"}), name, "u1")
}

/// Returns the key of the `MPIJob` `a` for its launcher, which contains only the UID of its Job.
fn key_of_launcher(uid: &str) -> LookupKey {
    let labels = json!({"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "a"});
    key_of_pod(&labels, "a-launcher", uid)
}

fn job(padding: usize) -> String {
    let spec = json!({"completionMode": "Indexed", "parallelism": 4, "completions": 4});
    json!({"metadata": {"name": "a", "uid": "u1"}, "spec": spec, "padding": "x".repeat(padding)}).to_string()
}

fn mpi_job() -> String {
    let replicas = |count: u64| json!({"replicas": count, "template": {"spec": {"containers": [{"name": "a"}]}}});
    let spec = json!({"mpiReplicaSpecs": {"Launcher": replicas(1), "Worker": replicas(4)}});
    json!({"metadata": {"name": "a", "uid": "m1"}, "spec": spec}).to_string()
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
            let expected = [
                "GET /apis/batch/v1/namespaces/team-a/jobs/",
                "GET /apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/a",
            ];
            assert!(expected.iter().any(|start| request.starts_with(start)), "{request}");
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

#[tokio::test]
async fn a_workload_that_may_have_been_created_again_is_read_again() {
    let (cache, requests) = cache("200 OK", mpi_job()).await;
    let long = "u".repeat(MAX_UID + 1);
    for (controller, expected) in [("u1", 1), ("u1", 1), ("u2", 2), ("u1", 2), (&*long, 3), (&*long, 3)] {
        assert!(cache.look_up(key_of_launcher(controller)).await.is_ok());
        assert_eq!(requests.load(Ordering::Relaxed), expected, "{controller}");
    }
    assert_eq!(key_of_launcher(&long).controller, None);
    assert_eq!(key("a").controller, None, "the key contains the UID of the Job");
}

async fn error(status: &'static str, body: String) -> String {
    let (cache, _) = cache(status, body).await;
    cache.look_up(key("a")).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_workload_that_cannot_be_read_is_unknown() {
    let status = |code: u16, reason: &str| json!({"kind": "Status", "code": code, "reason": reason, "message": "m"});
    let missing = error("404 Not Found", status(404, "NotFound").to_string()).await;
    assert!(missing.ends_with("Job a does not exist"), "{missing}");
    let forbidden = error("403 Forbidden", status(403, "Forbidden").to_string()).await;
    assert!(forbidden.starts_with("the workload cannot be read: "), "{forbidden}");
    let large = error("200 OK", job(MAX_BYTES)).await;
    assert!(large.ends_with("Job a is larger than 256 KiB"), "{large}");
    assert!(cache("200 OK", job(MAX_BYTES - 200)).await.0.look_up(key("a")).await.is_ok());
}

#[tokio::test]
async fn a_dropped_review_does_not_keep_others_waiting() {
    let (cache, _) = cache("200 OK", job(0)).await;
    for index in 0..REQUESTS {
        assert!(cache.look_up(key(&format!("dropped-{index}"))).now_or_never().is_none());
    }
    assert!(cache.look_up(key("a")).await.is_ok());
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
