//! Lists of resource claims: readiness, the reason for pods whose claims are not known, and the memory for the largest
//! objects that a tenant can create.

use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use rstest::rstest;
use rustls::version::TLS13;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::apiserver::{self, list_or_watch};
use crate::client::{self, post};
use crate::memory::{DEBUG_BOUND, peak_mib};
use crate::process::{Process, wait_ready};
use crate::test_server::review_of;
use crate::wait_until;

const PATHS: [(&str, &str); 3] = [
    ("/apis/resource.k8s.io/v1/deviceclasses", "DeviceClassList"),
    ("/apis/resource.k8s.io/v1/resourceclaimtemplates", "ResourceClaimTemplateList"),
    ("/apis/resource.k8s.io/v1/resourceclaims", "ResourceClaimList"),
];
/// Number of the largest objects: several pages of the webhook. In one page, they exceed the bound.
const OBJECTS: usize = 40;
/// Time for the lists: a debug build decodes them slowly on a busy machine.
const LIST_TIMEOUT: Duration = Duration::from_mins(2);
/// The limit of etcd for one object, less its metadata.
const MAX_OBJECT: usize = 1_500_000;

/// Reply of the apiserver to lists of templates.
#[derive(Clone, Copy, PartialEq)]
enum Reply {
    Never,
    Forbidden,
    Empty,
}

fn is_watch(query: Option<&String>) -> bool {
    query.is_some_and(|query| query.contains("watch=true"))
}

fn routes(reply: Reply) -> Router {
    let mut router = Router::new();
    for (path, kind) in PATHS {
        let reply = if path.ends_with("templates") { reply } else { Reply::Empty };
        router = router.route(
            path,
            get(move |RawQuery(query): RawQuery| async move {
                match reply {
                    Reply::Never => future::pending().await,
                    Reply::Forbidden => forbidden(),
                    Reply::Empty => list_or_watch(is_watch(query.as_ref()), kind, "resource.k8s.io/v1", &json!([])),
                }
            }),
        );
    }
    router
}

fn forbidden() -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403});
    (StatusCode::FORBIDDEN, status.to_string()).into_response()
}

/// A server without the list waits for it, but not forever.
#[rstest]
#[case::complete(Reply::Empty, "template gpus does not exist: create it before the pod")]
#[case::forbidden(Reply::Forbidden, "template gpus cannot be read: allow list and watch")]
#[case::without_an_answer(Reply::Never, "template gpus is not read yet: create the job again")]
#[tokio::test]
async fn a_server_is_ready_once_claims_are_listed(#[case] reply: Reply, #[case] expected: &str) {
    let api = apiserver::start_with(None, routes(reply)).await;
    let mut process = Process::start(&api, &["--drain", "0s"], None);
    let (listen, admin) = process.addresses().await;
    if reply == Reply::Never {
        wait_until("only the claims are missing", || async {
            client::get(admin, "/readyz").await.is_ok_and(|reply| reply.body == "not ready: claims not listed\n")
        })
        .await;
    }
    wait_ready(admin).await;
    let pod = json!({"metadata": {"name": "train-0", "labels": {"trainmesh.dev/fabric": "eks-efa"}}, "spec": {
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpus"}],
        "containers": [{"name": "train", "image": "i", "resources": {"claims": [{"name": "gpus"}]}}]}});
    let mut connection = client::connect(listen, &process.root(), &[&TLS13]).await.unwrap();
    let body = post(&mut connection, "/mutate", &review_of("team-a", &pod)).await.body;
    assert!(body.contains(expected), "{body}");
}

/// Returns the largest template: as many requests and alternatives as the API allows, and selectors for the rest.
fn largest_template() -> String {
    let requests = |length: usize| {
        let selector = json!({"cel": {"expression": "x".repeat(length)}});
        let alternative = json!({"name": "a", "deviceClassName": "c", "selectors": vec![selector; 32]});
        let request = json!({"name": "r", "firstAvailable": vec![alternative; 8]});
        json!({"spec": {"devices": {"requests": vec![request; 32]}}})
    };
    let rest = MAX_OBJECT - requests(0).to_string().len();
    let metadata = json!({"namespace": "team-a", "name": "NAME", "resourceVersion": "1"});
    json!({"metadata": metadata, "spec": requests(rest / (32 * 8 * 32))}).to_string()
}

/// Returns the requested page of the largest templates; `continue` is the index of its first object.
fn page(query: &str, template: &str) -> Response {
    let number = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse::<usize>().ok());
    let first = number("continue=").unwrap_or_default();
    let end = number("limit=").map_or(OBJECTS, |limit| OBJECTS.min(first + limit));
    let next = if end < OBJECTS { end.to_string() } else { String::new() };
    let items: Vec<String> = (first..end).map(|index| template.replacen("NAME", &format!("t{index}"), 1)).collect();
    let metadata = json!({"resourceVersion": "1", "continue": next});
    let items = items.join(",");
    format!(r#"{{"kind":"ResourceClaimTemplateList","apiVersion":"resource.k8s.io/v1","metadata":{metadata},"items":[{items}]}}"#)
        .into_response()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_for_the_largest_claims_is_bounded() {
    let template: Arc<str> = largest_template().into();
    let watches = Arc::new(AtomicUsize::new(0));
    let mut routes = Router::new();
    for (path, kind) in PATHS {
        let template = Some(Arc::clone(&template)).filter(|_| path.ends_with("templates"));
        let watches = Arc::clone(&watches);
        let reply = move |RawQuery(query): RawQuery| async move {
            match (is_watch(query.as_ref()), template) {
                (false, Some(template)) => page(&query.unwrap_or_default(), &template),
                (is_watch, template) => {
                    watches.fetch_add(usize::from(is_watch && template.is_some()), Ordering::Relaxed);
                    list_or_watch(is_watch, kind, "resource.k8s.io/v1", &json!([]))
                }
            }
        };
        routes = routes.route(path, get(reply));
    }
    let api = apiserver::start_with(None, routes).await;
    let mut process = Process::start(&api, &["--drain", "0s"], None);
    let (_, admin) = process.addresses().await;
    let listed = async {
        while watches.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(LIST_TIMEOUT, listed).await.is_ok(), "timed out waiting until the list is complete");
    wait_ready(admin).await;
    let peak = peak_mib(process.id());
    eprintln!("peak: {peak} MiB");
    assert!(peak <= DEBUG_BOUND, "{peak} MiB exceed the bound of {DEBUG_BOUND} MiB");
}
