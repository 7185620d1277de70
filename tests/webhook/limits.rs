//! Reviews over a limit: they are rejected with an HTTP status, counted, and cheap.

use std::sync::atomic::Ordering;

use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{self, Reply};
use crate::test_server::{TestServer, review, review_of};

const MIB: usize = 1024 * 1024;

/// Sends `body` and returns the reply, which may arrive before all of the body is sent.
async fn reply_to(server: &TestServer, body: &[u8]) -> Reply {
    let mut connection = server.connect().await;
    let (mut reading, mut writing) = tokio::io::split(&mut connection);
    let sending = async { drop(client::send(&mut writing, "/mutate", body).await) };
    let ((), reply) = tokio::join!(sending, client::reply(&mut reading));
    reply.unwrap()
}

fn pod_with(field: &str, value: Value) -> Value {
    let mut pod = json!({"metadata": {}, "spec": {"containers": [{"name": "train", "image": "i"}]}});
    *pod.pointer_mut("/spec/containers/0").unwrap() =
        json!({"name": "train", "image": "i", "env": [{"name": "A", "value": "1"}]});
    match field {
        "containers" => pod["spec"]["containers"] = value,
        "env" => pod["spec"]["containers"][0]["env"] = value,
        field => pod["metadata"][field] = value,
    }
    pod
}

/// Opens a connection and sends a header and part of a body.
async fn stalled(server: &TestServer, length: usize, sent: usize) -> client::Tls {
    let mut connection = server.connect().await;
    let head = format!("POST /mutate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&vec![b' '; sent]).await.unwrap();
    connection
}

/// Twice as many bodies as the budget for small ones holds.
#[tokio::test]
async fn stalled_bodies_are_evicted_for_others() {
    let server = TestServer::ready().await;
    let mut connections = Vec::new();
    for _ in 0..64 {
        connections.push(stalled(&server, 64 * 1024, 64 * 1024 - 1).await);
    }
    assert_eq!(reply_to(&server, &review("team-a")).await.status, 200);
    let reply = client::reply(&mut connections[0]).await.unwrap();
    assert_eq!(reply.status, 503, "the oldest must be evicted: {reply:?}");
    assert!(reply.closes());
    assert!(server.metrics.encode().contains("outcome=\"body_evicted\""));
}

fn numbers(count: usize) -> Value {
    vec![0; count].into()
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(0), |inner, _| json!([inner]))
}

#[rstest]
#[case::numbers(review_of("team-a", &numbers(50_001)), "--max-review-nodes")]
#[case::objects(review_of("team-a", &pod_with("containers", vec![json!({}); 600_000].into())), "--max-review-nodes")]
#[case::environment(review_of("team-a", &pod_with("env", vec![json!({"name": "A"}); 200_000].into())), "--max-review-nodes")]
#[case::depth(review_of("team-a", &pod_with("deep", nested(80))), "64 levels")]
#[tokio::test]
async fn a_review_above_the_node_limit_is_rejected(#[case] body: Vec<u8>, #[case] message: &str) {
    assert!(body.len() < 4 * MIB, "{}", body.len());
    let server = TestServer::ready().await;
    let reply = reply_to(&server, &body).await;
    assert_eq!(reply.status, 413, "{reply:?}");
    assert!(reply.body.contains(message), "{reply:?}");
    assert!(server.has_metric("trainmesh_admission_reviews_total{outcome=\"too_complex\"} 1"));
    assert_eq!(reply_to(&server, &review("team-a")).await.status, 200, "other reviews must be answered");
}

#[rstest]
#[case::just_below("other", 49_900)]
#[case::managed_fields_do_not_count("managedFields", 500_000)]
#[tokio::test]
async fn a_review_within_the_node_limit_is_answered(#[case] field: &str, #[case] nodes: usize) {
    let server = TestServer::ready().await;
    let reply = reply_to(&server, &review_of("team-a", &pod_with(field, numbers(nodes)))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.body.contains("JSONPatch"), "{reply:?}");
}

#[tokio::test]
async fn old_objects_options_and_users_are_skipped() {
    let server = TestServer::ready().await;
    let mut review: Value = serde_json::from_slice(&review("team-a")).unwrap();
    for field in ["oldObject", "options", "userInfo"] {
        review["request"][field] = numbers(100_000);
    }
    assert_eq!(reply_to(&server, &serde_json::to_vec(&review).unwrap()).await.status, 200);
}

/// Returns a review with `field` set to `value`.
fn review_with(field: &str, value: &str) -> Vec<u8> {
    let mut review: Value = serde_json::from_slice(&review("team-a")).unwrap();
    review["request"][field] = value.into();
    serde_json::to_vec(&review).unwrap()
}

#[rstest]
#[case::query("?watch=1")]
#[case::path("../secrets")]
#[case::upper_case("Team-A")]
#[case::dots("team.a")]
#[case::too_long(&"a".repeat(64))]
#[tokio::test]
async fn a_namespace_that_is_not_a_dns_label_is_never_looked_up(#[case] namespace: &str) {
    let server = TestServer::ready().await;
    let reply = reply_to(&server, &review_with("namespace", namespace)).await;
    assert_eq!((reply.status, server.namespaces.lookups.load(Ordering::Relaxed)), (400, 0), "{reply:?}");
    assert!(server.has_metric("trainmesh_admission_reviews_total{outcome=\"malformed\"} 1"));
}

#[rstest]
#[case::operation("operation", "\u{1b}[31m\n")]
#[case::uid("uid", "u")]
#[case::namespace("namespace", "\u{1b}\n")]
#[tokio::test]
async fn echoed_text_is_short_and_printable(#[case] field: &str, #[case] text: &str) {
    let server = TestServer::ready().await;
    let reply = reply_to(&server, &review_with(field, &text.repeat(20_000))).await;
    assert_eq!(reply.status, 400, "{:.200}", reply.body);
    assert!(reply.body.len() <= 1024, "{} bytes", reply.body.len());
    assert!(!reply.body.trim_end().contains(char::is_control), "{reply:?}");
}

#[tokio::test]
async fn an_error_of_the_apiserver_is_not_echoed() {
    let server = TestServer::ready().await;
    let reply = reply_to(&server, &review("broken")).await;
    assert_eq!((reply.status, reply.body.as_str()), (500, "could not read the labels of the namespace\n"));
}
