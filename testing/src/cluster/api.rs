//! What tests ask again and again goes to the apiserver from this process: a run of `kubectl` costs half a tenth of a
//! second of a core, and several tests that wait at a time would leave the cluster little of the machine.

use std::sync::{OnceLock, mpsc};

use hyper::Request as HttpRequest;
use kube::api::{DeleteParams, GetParams, ListParams, PostParams};
use kube::core::Request;
use kube::{Client, Error};
use serde_json::Value;
use tokio::runtime::Runtime;

/// Where the apiserver keeps a kind, by the word that `kubectl` takes for it.
const KINDS: &[(&str, &str, &str)] = &[
    ("certificate", "/apis/cert-manager.io/v1", "certificates"),
    ("configmap", "/api/v1", "configmaps"),
    ("event", "/apis/events.k8s.io/v1", "events"),
    ("job", "/apis/batch/v1", "jobs"),
    ("lease", "/apis/coordination.k8s.io/v1", "leases"),
    ("mutatingwebhookconfiguration", "/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    ("namespace", "/api/v1", "namespaces"),
    ("pod", "/api/v1", "pods"),
    ("pytorchjob", "/apis/kubeflow.org/v1", "pytorchjobs"),
    ("resourcequota", "/api/v1", "resourcequotas"),
    ("secret", "/api/v1", "secrets"),
    ("serviceaccount", "/api/v1", "serviceaccounts"),
    ("tfjob", "/apis/kubeflow.org/v1", "tfjobs"),
];

/// A client, and what it runs on.
struct Connection {
    runtime: Runtime,
    client: Client,
}

/// An object, if there is one of this name; `namespace` is `None` for those that live in none.
pub(super) fn get(kind: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
    let request = request(kind, namespace).get(name, &GetParams::default()).expect("a name");
    match send(request) {
        Ok(object) => Some(object),
        Err(Error::Api(status)) if status.code == 404 => None,
        Err(error) => panic!("could not get {kind} {name}: {error}"),
    }
}

/// The objects that a label selector finds; all of them if it is empty.
pub(super) fn list(kind: &str, namespace: Option<&str>, selector: &str) -> Vec<Value> {
    let request = request(kind, namespace).list(&ListParams::default().labels(selector)).expect("a selector");
    let mut list = send(request).unwrap_or_else(|error| panic!("could not list {kind}: {error}"));
    let Value::Array(items) = list["items"].take() else { panic!("no list: {list}") };
    items
}

/// Creates an object, or with `dry_run` has the apiserver say what it would have created. A field that it does not know
/// is an error, as it is to `kubectl`.
pub(super) fn create(kind: &str, namespace: Option<&str>, object: &Value, dry_run: bool) -> Result<Value, Error> {
    let parameters = PostParams { dry_run, field_manager: None };
    let body = object.to_string().into_bytes();
    let mut request = request(kind, namespace).create(&parameters, body).expect("an object");
    let strict = format!("{}&fieldValidation=Strict", request.uri());
    *request.uri_mut() = strict.parse().expect("an address");
    send(request)
}

/// Has an object deleted; nobody waits for its end.
pub(super) fn delete(kind: &str, name: &str) -> Result<Value, Error> {
    send(request(kind, None).delete(name, &DeleteParams::background()).expect("a name"))
}

/// Whether an object could not be created because there is one of its name.
pub(super) fn exists(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 409)
}

fn request(kind: &str, namespace: Option<&str>) -> Request {
    let known = KINDS.iter().find(|(word, ..)| kind.eq_ignore_ascii_case(word));
    let (_, group, plural) = known.unwrap_or_else(|| panic!("where is {kind} kept? testing/src/cluster/api.rs"));
    Request::new(match namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{plural}"),
    })
}

fn send(request: HttpRequest<Vec<u8>>) -> Result<Value, Error> {
    static CONNECTION: OnceLock<Connection> = OnceLock::new();
    let Connection { runtime, client } = CONNECTION.get_or_init(|| {
        // Another test of this process may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Runtime::new().expect("start the client's threads");
        let client = wait(&runtime, trainmesh::cluster::client::connect(None, None)).expect("a client");
        Connection { runtime, client }
    });
    wait(runtime, client.request(request))
}

/// Waits for an answer: not by `block_on`, because some tests run on a runtime's threads themselves.
fn wait<T: Send + 'static>(runtime: &Runtime, answer: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move { tell.send(answer.await) });
    told.recv().expect("the client answers")
}
