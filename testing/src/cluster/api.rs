//! In-process API client for polling: each run of `kubectl` takes 50 ms of CPU time, so several waiting tests would
//! starve the cluster.

use std::sync::{OnceLock, mpsc};

use hyper::Request as HttpRequest;
use kube::api::{DeleteParams, GetParams, ListParams, PostParams};
use kube::core::Request;
use kube::{Client, Error};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{TIMEOUT, within};

/// Resource name of each kind as `kubectl` accepts it, API path of its group, and plural.
const KINDS: &[(&str, &str, &str)] = &[
    ("certificate", "/apis/cert-manager.io/v1", "certificates"),
    ("configmap", "/api/v1", "configmaps"),
    ("event", "/apis/events.k8s.io/v1", "events"),
    ("job", "/apis/batch/v1", "jobs"),
    ("lease", "/apis/coordination.k8s.io/v1", "leases"),
    ("mutatingwebhookconfiguration", "/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    ("namespace", "/api/v1", "namespaces"),
    ("pod", "/api/v1", "pods"),
    ("podgroups.v1alpha1.scheduling.x-k8s.io", "/apis/scheduling.x-k8s.io/v1alpha1", "podgroups"),
    ("podgroups.v1alpha2.scheduling.k8s.io", "/apis/scheduling.k8s.io/v1alpha2", "podgroups"),
    ("podgroups.v1beta1.scheduling.k8s.io", "/apis/scheduling.k8s.io/v1beta1", "podgroups"),
    ("podgroups.v1beta1.scheduling.volcano.sh", "/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    ("pytorchjob", "/apis/kubeflow.org/v1", "pytorchjobs"),
    ("resourcequota", "/api/v1", "resourcequotas"),
    ("secret", "/api/v1", "secrets"),
    ("serviceaccount", "/api/v1", "serviceaccounts"),
    ("tfjob", "/apis/kubeflow.org/v1", "tfjobs"),
];

/// A client and its runtime.
struct Connection {
    runtime: Runtime,
    client: Client,
}

/// Gets an object; `namespace` is `None` for cluster-scoped kinds. Returns `None` if the object does not exist.
pub(super) fn get(kind: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
    match repeat(|| send(request(kind, namespace).get(name, &GetParams::default()).expect("a name"))) {
        Ok(object) => Some(object),
        Err(Error::Api(status)) if status.code == 404 => None,
        Err(error) => panic!("could not get {kind} {name}: {error}"),
    }
}

/// Lists the objects that match a label selector; an empty selector matches all.
pub(super) fn list(kind: &str, namespace: Option<&str>, selector: &str) -> Vec<Value> {
    let parameters = ListParams::default().labels(selector);
    let list = || send(request(kind, namespace).list(&parameters).expect("a selector"));
    let mut list = repeat(list).unwrap_or_else(|error| panic!("could not list {kind}: {error}"));
    let Value::Array(items) = list["items"].take() else { panic!("no list: {list}") };
    items
}

/// Creates an object and returns it as stored, or with `dry_run` as it would be. Unknown fields are errors, as with
/// `kubectl`.
pub(super) fn create(kind: &str, namespace: Option<&str>, object: &Value, dry_run: bool) -> Result<Value, Error> {
    let parameters = PostParams { dry_run, field_manager: None };
    let body = object.to_string().into_bytes();
    let mut request = request(kind, namespace).create(&parameters, body).expect("an object");
    let strict = format!("{}&fieldValidation=Strict", request.uri());
    *request.uri_mut() = strict.parse().expect("an address");
    send(request)
}

/// Creates an object unless it exists.
pub(super) fn ensure(kind: &str, namespace: Option<&str>, object: &Value) {
    match repeat(|| create(kind, namespace, object, false)) {
        Err(error) if !already_exists(&error) => panic!("could not create {object}: {error}"),
        _ => {}
    }
}

/// Deletes an object in the background.
pub(super) fn delete(kind: &str, name: &str) -> Result<Value, Error> {
    send(request(kind, None).delete(name, &DeleteParams::background()).expect("a name"))
}

/// Deletes a namespaced object without a grace period.
pub(super) fn delete_now(kind: &str, namespace: &str, name: &str) {
    let parameters = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::background() };
    let deleted = send(request(kind, Some(namespace)).delete(name, &parameters).expect("a name"));
    let _ = deleted.unwrap_or_else(|error| panic!("could not delete {kind} {name}: {error}"));
}

/// Returns true if an object could not be created because it exists.
fn already_exists(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 409)
}

/// Repeats a request that has the same result each time, while the connection or the apiserver fails.
fn repeat(send: impl Fn() -> Result<Value, Error>) -> Result<Value, Error> {
    let is_final = |error: &Error| matches!(error, Error::Api(status) if status.code < 500 && status.code != 429);
    let attempt = || match send() {
        Err(error) if !is_final(&error) => Err(error),
        result => Ok(result),
    };
    within(TIMEOUT, attempt).unwrap_or_else(Err)
}

fn request(kind: &str, namespace: Option<&str>) -> Request {
    let entry = KINDS.iter().find(|(name, ..)| kind.eq_ignore_ascii_case(name));
    let (_, group, plural) = entry.unwrap_or_else(|| panic!("add {kind} to KINDS in testing/src/cluster/api.rs"));
    Request::new(match namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{plural}"),
    })
}

fn send(request: HttpRequest<Vec<u8>>) -> Result<Value, Error> {
    static CONNECTION: OnceLock<Connection> = OnceLock::new();
    let Connection { runtime, client } = CONNECTION.get_or_init(|| {
        // Fails if another test of this process has installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Runtime::new().expect("start the runtime");
        let client = wait(&runtime, trainmesh::cluster::client::connect(None, None)).expect("create a client");
        Connection { runtime, client }
    });
    wait(runtime, client.request(request))
}

/// Waits for `future` without `block_on`, which panics in tests that run on a runtime's threads.
fn wait<T: Send + 'static>(runtime: &Runtime, future: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    runtime.spawn(async move { sender.send(future.await) });
    receiver.recv().expect("the task completes")
}
