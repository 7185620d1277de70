//! A failing webhook and hostile clients: with `Ignore`, no pod is blocked.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

use rstest::rstest;
use serde_json::{Value, json};

use super::relay::Relay;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::{OPTED_IN, creation, has_hold, pod};
use trainmesh_testing::tls::post;
use trainmesh_testing::webhook::{Certificate, Options, Process, Webhook, base64, failed_open};

/// Timeout of calls that a webhook does not answer, in seconds. With two of them, a pod is created within the apiserver's deadline.
const UNRESPONSIVE_TIMEOUT: u8 = 10;
const CONNECTIONS: usize = 1000;

/// Creates a pod, whatever state the webhook is in, and returns its audit event.
fn create(namespace: &Namespace, name: &str) -> Value {
    let _ = namespace.create(&pod(name)).success();
    creation(namespace, name)
}

fn check_failed_open(request: &Value) {
    let failed = failed_open(request);
    // One failed call in each round.
    assert_eq!(failed, ["inject.trainmesh.dev"; 2], "{}", request["annotations"]);
    assert!(!has_hold(&request["responseObject"]), "{}", request["responseObject"]["metadata"]);
}

fn check_served(request: &Value) {
    assert_eq!(failed_open(request), [""; 0], "{}", request["annotations"]);
    assert!(has_hold(&request["responseObject"]), "{}", request["responseObject"]["metadata"]);
}

#[rstest]
#[case::killed("KILL")]
#[case::hung("STOP")]
fn an_unresponsive_webhook_blocks_no_pod(#[case] signal: &str) {
    Cluster::get().start_mesh();
    let options = Options { timeout: Some(UNRESPONSIVE_TIMEOUT), ..Options::default() };
    let mut webhook = Webhook::with_options(&options);
    let namespace = webhook.namespace(&OPTED_IN);
    check_served(&create(&namespace, "before"));
    webhook.process.signal(signal);
    if signal == "KILL" {
        webhook.process.wait_for_exit();
    }
    check_failed_open(&create(&namespace, "meanwhile"));
    if signal == "STOP" {
        webhook.process.signal("CONT");
        eventually(TIMEOUT, "the webhook responds again", || match webhook.process.get("/readyz") {
            (200, _) => Ok(()),
            (status, _) => Err(status),
        });
        check_served(&create(&namespace, "after"));
    }
}

#[test]
fn an_untrusted_certificate_blocks_no_pod() {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let other = base64(&Certificate::new().pem);
    let replace =
        |index| json!({"op": "replace", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": other});
    let patch = Value::from_iter([0, 1, 2].map(replace)).to_string();
    webhook.configuration.patch(&patch);
    let request = eventually(TIMEOUT, "calls fail", || {
        let _ = namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &pod("train")).success();
        let request = creation(&namespace, "train");
        if failed_open(&request).is_empty() { Err("a call succeeded") } else { Ok(request) }
    });
    check_failed_open(&request);
    // The client rejects the certificate before the server counts it.
    eventually(TIMEOUT, "the failed handshakes are counted", || {
        match webhook.process.metric("trainmesh_tls_handshake_failures_total{reason=\"certificate_rejected\"}") {
            Some(1..) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}

#[rstest]
#[case::admitted_unchanged("Ignore")]
#[case::rejected("Fail")]
fn unknown_namespace_labels_fail_the_review(#[case] policy: &str) {
    Cluster::get().start_mesh();
    let server = std::env::var("TRAINMESH_CLUSTER_SERVER").expect("the harness has checked for the cluster");
    let server = server.trim_start_matches("https://");
    let relay = Relay::to(server.parse().expect("the apiserver's address"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let kubeconfig = fs::read_to_string(std::env::var("KUBECONFIG").expect("KUBECONFIG")).unwrap();
    fs::write(&path, kubeconfig.replace(server, &relay.address.to_string())).unwrap();
    let webhook =
        Webhook::with_options(&Options { policy: Some(policy), kubeconfig: Some(&path), ..Options::default() });
    // The webhook can neither watch this namespace nor read it.
    relay.cut();
    let namespace = webhook.namespace(&OPTED_IN);
    let created = namespace.create(&pod("train"));
    if policy == "Ignore" {
        let _ = created.success();
        check_failed_open(&creation(&namespace, "train"));
    } else {
        assert!(created.stderr.contains("could not read the labels of the namespace"), "{}", created.stderr);
        // The alert TrainmeshFailsClosed selects this series.
        let rejected = Cluster::get().metric(
            "apiserver_admission_webhook_rejection_count",
            "error_type=\"calling_webhook_error\",name=\"inject.trainmesh.dev\",operation=\"CREATE\",rejection_code=\"500\"",
        );
        assert!(rejected > 0);
    }
    assert!(webhook.process.metric("trainmesh_admission_reviews_total{outcome=\"namespace_failed\"}") > Some(0));
}

/// Starts the misbehavior of a client and returns its open connections.
type Attack = fn(&Process) -> Vec<Box<dyn Send>>;

#[rstest]
#[case::incomplete_handshakes(incomplete_handshakes)]
#[case::incomplete_headers(incomplete_headers)]
#[case::garbage(garbage)]
#[case::large_bodies(large_bodies)]
#[case::many_connections(many_connections)]
fn hostile_clients_block_no_pod(#[case] attack: Attack) {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let connections = attack(&webhook.process);
    for name in ["first", "second"] {
        check_served(&create(&namespace, name));
    }
    drop(connections);
    check_served(&create(&namespace, "after"));
}

fn incomplete_handshakes(process: &Process) -> Vec<Box<dyn Send>> {
    let half = |_| {
        let mut stream = TcpStream::connect(process.listen).unwrap();
        stream.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00]).unwrap();
        Box::new(stream) as _
    };
    (0..100).map(half).collect()
}

fn incomplete_headers(process: &Process) -> Vec<Box<dyn Send>> {
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
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // The server sends an alert or closes the connection; unread input makes that a reset.
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the connection was not closed");
        }
    }
    // The client notices the closed connection before the failure is counted.
    eventually(TIMEOUT, "every failed handshake is counted", || {
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
                Ok(reply) => assert!([400, 408, 503].contains(&reply.status), "{}", reply.body),
                // Evicted before the body was written: eight bodies exceed the budget.
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset),
                    "the connection failed in another way: {error}"
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
