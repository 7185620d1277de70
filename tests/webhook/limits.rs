//! Reviews beyond a limit: rejected with an HTTP status, counted, and cheap.

use std::sync::atomic::Ordering;

use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{self, Reply};
use crate::world::{World, review, review_of};

const MIB: usize = 1024 * 1024;

/// Sends `body` and returns the reply, which may come before all of it is sent.
async fn reply_to(world: &World, body: &[u8]) -> Reply {
    let mut connection = world.connect().await;
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

/// A connection that has sent a head and a part of its body.
async fn stalled(world: &World, length: usize, sent: usize) -> client::Tls {
    let mut connection = world.connect().await;
    let head = format!("POST /mutate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(&vec![b' '; sent]).await.unwrap();
    connection
}

/// The small share of the budget, twice.
#[tokio::test]
async fn stalled_bodies_make_room_for_others() {
    let world = World::ready().await;
    let mut connections = Vec::new();
    for _ in 0..64 {
        connections.push(stalled(&world, 64 * 1024, 64 * 1024 - 1).await);
    }
    assert_eq!(reply_to(&world, &review("team-a")).await.status, 200);
    let reply = client::reply(&mut connections[0]).await.unwrap();
    assert_eq!(reply.status, 503, "the oldest was dropped: {reply:?}");
    assert!(reply.closes());
    assert!(world.metrics.encode().contains("outcome=\"body_evicted\""));
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
    let world = World::ready().await;
    let reply = reply_to(&world, &body).await;
    assert_eq!(reply.status, 413, "{reply:?}");
    assert!(reply.body.contains(message), "{reply:?}");
    assert!(world.counts("trainmesh_admission_reviews_total{outcome=\"too_complex\"} 1"));
    assert_eq!(reply_to(&world, &review("team-a")).await.status, 200, "other reviews are answered");
}

#[rstest]
#[case::just_below("other", 49_900)]
#[case::managed_fields_do_not_count("managedFields", 500_000)]
#[tokio::test]
async fn a_review_within_the_node_limit_is_answered(#[case] field: &str, #[case] nodes: usize) {
    let world = World::ready().await;
    let reply = reply_to(&world, &review_of("team-a", &pod_with(field, numbers(nodes)))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.body.contains("JSONPatch"), "{reply:?}");
}

#[tokio::test]
async fn old_objects_options_and_users_are_skipped() {
    let world = World::ready().await;
    let mut review: Value = serde_json::from_slice(&review("team-a")).unwrap();
    for field in ["oldObject", "options", "userInfo"] {
        review["request"][field] = numbers(100_000);
    }
    assert_eq!(reply_to(&world, &serde_json::to_vec(&review).unwrap()).await.status, 200);
}

/// A review whose `field` holds `value`.
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
async fn a_namespace_that_is_no_dns_label_is_never_looked_up(#[case] namespace: &str) {
    let world = World::ready().await;
    let reply = reply_to(&world, &review_with("namespace", namespace)).await;
    assert_eq!((reply.status, world.facts.lookups.load(Ordering::Relaxed)), (400, 0), "{reply:?}");
    assert!(world.counts("trainmesh_admission_reviews_total{outcome=\"malformed\"} 1"));
}

#[rstest]
#[case::operation("operation", "\u{1b}[31m\n")]
#[case::uid("uid", "u")]
#[case::namespace("namespace", "\u{1b}\n")]
#[tokio::test]
async fn echoed_text_is_short_and_printable(#[case] field: &str, #[case] text: &str) {
    let world = World::ready().await;
    let reply = reply_to(&world, &review_with(field, &text.repeat(20_000))).await;
    assert_eq!(reply.status, 400, "{:.200}", reply.body);
    assert!(reply.body.len() <= 1024, "{} bytes", reply.body.len());
    assert!(!reply.body.trim_end().contains(char::is_control), "{reply:?}");
}

#[tokio::test]
async fn an_error_of_the_apiserver_is_not_echoed() {
    let world = World::ready().await;
    let reply = reply_to(&world, &review("broken")).await;
    assert_eq!((reply.status, reply.body.as_str()), (500, "the labels of the namespace are not known\n"));
}
