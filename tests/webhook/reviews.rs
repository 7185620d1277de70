//! Replies to admission reviews.

use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::ByteString;
use rstest::rstest;
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::gang::mode_pins::ModePins;

use crate::client::{self, post};
use crate::test_server::{TestServer, review, review_of};

const MIB: usize = 1024 * 1024;

#[rstest]
#[case::tls_1_2(&TLS12)]
#[case::tls_1_3(&TLS13)]
#[tokio::test]
async fn a_connection_serves_several_reviews(#[case] version: &'static SupportedProtocolVersion) {
    let server = TestServer::ready().await;
    let mut connection = client::connect(server.address, &server.root, &[version]).await.unwrap();
    assert_eq!(connection.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    for (path, patched) in [("/mutate?timeout=10s", true), ("/istio-aux", true), ("/audit", false)] {
        let reply = post(&mut connection, path, &review("team-a")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(!reply.closes());
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(body["response"]["uid"], "0b4c");
        assert_eq!(body["response"]["allowed"], true);
        assert_eq!(body["response"].get("patch").is_some(), patched, "{path}");
        assert_eq!(body["response"].get("patchType").is_some(), patched, "{path}");
    }
    assert!(server.has_metric("trainmesh_admission_reviews_total{outcome=\"patched\"} 2"));
    assert!(server.has_metric("trainmesh_admission_reviews_total{outcome=\"rehearsed\"} 1"));
    assert!(
        server
            .has_metric("trainmesh_rule_outcomes_total{rule=\"mesh.hold\",outcome=\"applied\",reason=\"HoldAdded\"} 3")
    );
    let metrics = client::get(server.admin, "/metrics").await.unwrap();
    assert!(metrics.head.contains("application/openmetrics-text"), "{}", metrics.head);
    assert!(metrics.body.ends_with("# EOF\n"));
}

#[rstest]
#[case::namespace_unknown(
    "/mutate",
    review("broken"),
    500,
    "could not read the labels of the namespace",
    "namespace_failed"
)]
#[case::panic("/mutate", review("panic"), 500, "the review panicked", "panicked")]
#[case::not_json("/mutate", b"{".to_vec(), 400, "the body is not an admission review", "malformed")]
#[case::empty("/audit", Vec::new(), 400, "the body is not an admission review", "malformed")]
#[case::no_object("/mutate", review_of("team-a", &Value::Null), 400, "has no object", "malformed")]
#[case::too_large("/mutate", vec![b' '; 4 * MIB + 1], 413, "the body exceeds 4194304 bytes", "too_large")]
#[tokio::test]
async fn failures_are_reported_by_status_and_metric(
    #[case] path: &str,
    #[case] body: Vec<u8>,
    #[case] status: u16,
    #[case] message: &str,
    #[case] outcome: &str,
) {
    let server = TestServer::ready().await;
    let mut connection = server.connect().await;
    // The reply to a body that is too large arrives before all of it is sent.
    let (mut reading, mut writing) = tokio::io::split(&mut connection);
    let sending = async { drop(client::send(&mut writing, path, &body).await) };
    let ((), reply) = tokio::join!(sending, client::reply(&mut reading));
    let reply = reply.unwrap();
    assert_eq!(reply.status, status, "{reply:?}");
    assert!(reply.body.contains(message), "{reply:?}");
    assert!(server.has_metric(&format!("trainmesh_admission_reviews_total{{outcome=\"{outcome}\"}} 1")));
    let again = post(&mut server.connect().await, "/mutate", &review("team-a")).await;
    assert_eq!(again.status, 200, "the server must keep serving");
}

#[rstest]
#[case::other_path("POST /validate", 404)]
#[case::other_method("GET /mutate", 405)]
#[case::metrics_on_the_webhook_port("GET /metrics", 404)]
#[tokio::test]
async fn other_requests_are_rejected(#[case] request: &str, #[case] status: u16) {
    let server = TestServer::ready().await;
    let mut connection = server.connect().await;
    connection.write_all(format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(client::reply(&mut connection).await.unwrap().status, status);
}

#[tokio::test]
async fn a_review_without_a_configuration_fails() {
    let server = TestServer::ready().await;
    let pair = crate::test_server::CertificatePair::valid_for_days(1);
    let certificate = std::sync::Arc::clone(&server.served);
    certificate.replace(pair.certificate());
    let drain = trainmesh::webhook::Drain { wait: Duration::ZERO, grace: Duration::ZERO };
    let unconfigured = TestServer::start(&pair, certificate, drain).await;
    let reply = post(&mut unconfigured.connect().await, "/mutate", &review("team-a")).await;
    assert_eq!(reply.status, 500);
    assert_eq!(reply.body, "no valid configuration has been read yet\n");
}

#[tokio::test]
async fn a_lookup_that_exceeds_the_deadline_fails_the_review() {
    let server = TestServer::ready().await;
    let reply = post(&mut server.connect().await, "/mutate?timeout=1s", &review("slow")).await;
    assert_eq!((reply.status, reply.body.as_str()), (500, "no response in time\n"));
    assert!(server.has_metric("trainmesh_admission_reviews_total{outcome=\"deadline\"} 1"));
}

#[tokio::test]
async fn an_excessive_content_length_is_rejected_before_the_body() {
    let server = TestServer::ready().await;
    let mut connection = server.connect().await;
    connection.write_all(b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n").await.unwrap();
    assert_eq!(client::reply(&mut connection).await.unwrap().status, 413);
}

#[tokio::test]
async fn an_incomplete_body_times_out() {
    let server = TestServer::ready().await;
    let mut connection = server.connect().await;
    let head = b"POST /mutate?timeout=1s HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{";
    connection.write_all(head).await.unwrap();
    let reply = client::reply(&mut connection).await.unwrap();
    assert_eq!((reply.status, reply.body.as_str()), (408, "the body did not arrive in time\n"));
    assert!(server.has_metric("trainmesh_admission_reviews_total{outcome=\"body_timeout\"} 1"));
    assert!(reply.closes());
    client::wait_closed(&mut connection).await;
}

#[tokio::test]
async fn a_large_pod_is_patched() {
    let server = TestServer::ready().await;
    let env: Vec<Value> =
        (0..16_000).map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "some text"})).collect();
    let pod = json!({"metadata": {}, "spec": {"containers": [{"name": "train", "image": "i", "env": env}]}});
    let body = review_of("team-a", &pod);
    assert!(body.len() > MIB / 2);
    let reply = post(&mut server.connect().await, "/mutate", &body).await;
    assert_eq!(reply.status, 200);
    assert!(reply.body.contains("JSONPatch"));
}

/// Returns a review of a worker of the `PyTorchJob` `job`, with its own label for the gang mode, if there is one.
fn gang_review(job: &str, mode: Option<&str>) -> Vec<u8> {
    let mut review: Value = serde_json::from_slice(&review("team-a")).unwrap();
    let mut labels = json!({
        "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-name": job,
        "training.kubeflow.org/replica-type": "worker",
    });
    if let Some(mode) = mode {
        labels["trainmesh.dev/gang"] = mode.into();
    }
    let owner =
        json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job, "uid": "u1", "controller": true});
    review["request"]["object"]["metadata"]["labels"] = labels;
    review["request"]["object"]["metadata"]["ownerReferences"] = json!([owner]);
    serde_json::to_vec(&review).unwrap()
}

#[rstest]
#[case::known("large", "koordinator", 1, "applied")]
#[case::missing("other", "koordinator", 1, "refused")]
#[case::no_object_needed("large", "kai", 0, "applied")]
#[case::no_mode("large", "none", 0, "skipped")]
#[tokio::test]
async fn the_workload_of_a_gang_is_read_once(
    #[case] job: &str,
    #[case] mode: &str,
    #[case] lookups: usize,
    #[case] outcome: &str,
) {
    let server = TestServer::ready().await;
    let mut connection = server.connect().await;
    let reply = post(&mut connection, "/mutate", &gang_review(job, Some(mode))).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(server.workloads.lookups.load(Ordering::Relaxed), lookups);
    let response: Value = serde_json::from_str(&reply.body).unwrap();
    let rules = response["response"]["auditAnnotations"]["rules"].as_str().unwrap();
    assert!(rules.contains(&format!("gang={outcome}:")), "{rules}");
}

/// A pod gets the mode that is stored for the running pods of its job, although nothing selects a mode any more.
#[rstest]
#[case::stored(r#"{"koordinator": ["team-a/0/master/u1"]}"#, None, 1, "koord-scheduler")]
#[case::without_object(r#"{"kai": ["team-a/0/worker/u1"]}"#, None, 0, "kai-scheduler")]
#[case::of_another_job(r#"{"koordinator": ["team-a/0/master/u2"]}"#, None, 0, "")]
#[case::of_another_namespace(r#"{"koordinator": ["team-b/0/master/u1"]}"#, None, 0, "")]
#[case::label_of_the_pod(r#"{"koordinator": ["team-a/0/master/u1"]}"#, Some("kai"), 0, "kai-scheduler")]
#[case::none_stored("{}", None, 0, "")]
#[tokio::test]
async fn the_mode_of_running_pods_is_kept(
    #[case] stored: &str,
    #[case] label: Option<&str>,
    #[case] lookups: usize,
    #[case] scheduler: &str,
) {
    let server = TestServer::ready().await;
    let gang_modes = ModePins::from_json(stored).unwrap().into();
    server.facts.store(ClusterFacts { gang_modes, ..ClusterFacts::default() }.into());
    let reply = post(&mut server.connect().await, "/mutate", &gang_review("large", label)).await;
    assert_eq!((reply.status, server.workloads.lookups.load(Ordering::Relaxed)), (200, lookups), "{}", reply.body);
    let response: Value = serde_json::from_str(&reply.body).unwrap();
    let ByteString(patch) = serde_json::from_value(response["response"]["patch"].clone()).unwrap();
    let operations: Vec<Value> = serde_json::from_slice(&patch).unwrap();
    let selected = operations.iter().find(|operation| operation["path"] == "/spec/schedulerName");
    assert_eq!(selected.and_then(|operation| operation["value"].as_str()).unwrap_or_default(), scheduler);
}
