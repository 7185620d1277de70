//! A webhook that fails, and clients that are hostile: under `Ignore` that costs no pod.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::relay::Relay;
use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::pods::{SERVED, creation, held, pod};
use trainmesh_testing::tls::post;
use trainmesh_testing::webhook::{Certificate, Options, Process, Webhook, base64, failed_open};

/// By then a server has closed the connection of a client that does not speak TLS.
const CLOSED: Duration = Duration::from_secs(15);
const CONNECTIONS: usize = 1000;

/// Creates a pod, whatever state the webhook is in.
fn create(namespace: &Namespace, name: &str) -> Value {
    let _ = namespace.create(&pod(name)).success();
    creation(namespace, name)
}

fn check_failed_open(request: &Value) {
    let failed = failed_open(request);
    // In each round.
    assert_eq!(failed, ["inject.trainmesh.dev"; 2], "{}", request["annotations"]);
    assert!(!held(&request["responseObject"]), "{}", request["responseObject"]["metadata"]);
}

fn check_served(request: &Value) {
    assert_eq!(failed_open(request), [""; 0], "{}", request["annotations"]);
    assert!(held(&request["responseObject"]), "{}", request["responseObject"]["metadata"]);
}

#[rstest]
#[case::killed("KILL")]
#[case::hung("STOP")]
fn a_webhook_that_does_not_answer_costs_no_pod(#[case] signal: &str) {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SERVED);
    check_served(&create(&namespace, "before"));
    webhook.process.signal(signal);
    check_failed_open(&create(&namespace, "meanwhile"));
    if signal == "STOP" {
        webhook.process.signal("CONT");
        eventually(PATIENCE, "it answers again", || match webhook.process.get("/readyz") {
            (200, _) => Ok(()),
            (status, _) => Err(status),
        });
        check_served(&create(&namespace, "after"));
    }
}

#[test]
fn a_certificate_that_the_registration_does_not_name_costs_no_pod() {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SERVED);
    let other = base64(&Certificate::new().pem);
    let replace =
        |index| json!({"op": "replace", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": other});
    let patch = Value::from_iter([0, 1, 2].map(replace)).to_string();
    webhook.registration.patch(&patch);
    let request = eventually(PATIENCE, "calls fail", || {
        let _ = namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &pod("train")).success();
        let request = creation(&namespace, "train");
        if failed_open(&request).is_empty() { Err("a call succeeded") } else { Ok(request) }
    });
    check_failed_open(&request);
    assert!(
        webhook.process.metric("trainmesh_tls_handshake_failures_total{reason=\"certificate_rejected\"}") > Some(0)
    );
}

#[rstest]
#[case::admitted_unchanged("Ignore")]
#[case::refused("Fail")]
fn without_the_labels_of_the_namespace_the_policy_decides(#[case] policy: &str) {
    Cluster::get().mesh();
    let server = std::env::var("TRAINMESH_CLUSTER_SERVER").expect("the harness has checked for the cluster");
    let server = server.trim_start_matches("https://");
    let relay = Relay::to(server.parse().expect("the apiserver's address"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let kubeconfig = fs::read_to_string(std::env::var("KUBECONFIG").expect("KUBECONFIG")).unwrap();
    fs::write(&path, kubeconfig.replace(server, &relay.address.to_string())).unwrap();
    let webhook = Webhook::with(&Options { policy: Some(policy), kubeconfig: Some(&path), ..Options::default() });
    // It can neither learn of this namespace by its watch nor ask for it.
    relay.cut();
    let namespace = webhook.namespace(&SERVED);
    let created = namespace.create(&pod("train"));
    if policy == "Ignore" {
        let _ = created.success();
        check_failed_open(&creation(&namespace, "train"));
    } else {
        assert!(created.stderr.contains("the labels of the namespace are not known"), "{}", created.stderr);
    }
    assert!(webhook.process.metric("trainmesh_admission_reviews_total{outcome=\"namespace_failed\"}") > Some(0));
}

/// What a bad client does, while pods are created; returns when it is under way.
type Attack = fn(&Process) -> Vec<Box<dyn Send>>;

#[rstest]
#[case::half_a_handshake(half_a_handshake)]
#[case::half_a_head(half_a_head)]
#[case::garbage(garbage)]
#[case::large_bodies(large_bodies)]
#[case::many_connections(many_connections)]
fn bad_clients_cost_no_pod(#[case] attack: Attack) {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SERVED);
    let held_open = attack(&webhook.process);
    for name in ["first", "second"] {
        check_served(&create(&namespace, name));
    }
    drop(held_open);
    check_served(&create(&namespace, "after"));
}

fn half_a_handshake(process: &Process) -> Vec<Box<dyn Send>> {
    let half = |_| {
        let mut stream = TcpStream::connect(process.listen).unwrap();
        stream.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00]).unwrap();
        Box::new(stream) as _
    };
    (0..100).map(half).collect()
}

fn half_a_head(process: &Process) -> Vec<Box<dyn Send>> {
    let half = |_| {
        let mut stream = process.connect().unwrap();
        stream.write_all(b"POST /mutate HTTP/1.1\r\nContent-Length: 8").unwrap();
        Box::new(stream) as _
    };
    (0..100).map(half).collect()
}

fn garbage(process: &Process) -> Vec<Box<dyn Send>> {
    for _ in 0..100 {
        let mut stream = TcpStream::connect(process.listen).unwrap();
        stream.set_read_timeout(Some(CLOSED)).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // An alert, or the end of the connection; with an error where it came before all was read.
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the connection stays open");
        }
    }
    // The client sees the end of a connection before the failure is counted.
    eventually(PATIENCE, "every failed handshake is counted", || {
        match process.metric("trainmesh_tls_handshake_failures_total{reason=\"not_tls\"}") {
            Some(100) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    Vec::new()
}

fn large_bodies(process: &Process) -> Vec<Box<dyn Send>> {
    let mut body = br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"#.to_vec();
    body.resize(4 * 1024 * 1024, b' ');
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match post(&mut process.connect().unwrap(), "/mutate", &body) {
                Ok(reply) => assert!([400, 503].contains(&reply.status), "{}", reply.body),
                // Evicted before all was written: eight of them are more than the budget.
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset),
                    "another end of the connection: {error}"
                ),
            });
        }
    });
    Vec::new()
}

fn many_connections(process: &Process) -> Vec<Box<dyn Send>> {
    let calls = |_| {
        let mut stream = process.connect().unwrap();
        assert_eq!(post(&mut stream, "/mutate", b"{}").unwrap().status, 400);
        Box::new(stream) as _
    };
    (0..CONNECTIONS).map(calls).collect()
}
