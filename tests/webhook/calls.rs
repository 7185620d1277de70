//! What a call is answered.

use std::time::Duration;

use rstest::rstest;
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{self, post};
use crate::world::{World, review, review_of};

const MIB: usize = 1024 * 1024;

#[rstest]
#[case::tls_1_2(&TLS12)]
#[case::tls_1_3(&TLS13)]
#[tokio::test]
async fn calls_follow_each_other_on_one_connection(#[case] version: &'static SupportedProtocolVersion) {
    let world = World::ready().await;
    let mut connection = client::connect(world.address, &world.root, &[version]).await.unwrap();
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
    assert!(world.counts("trainmesh_admission_reviews_total{outcome=\"patched\"} 2"));
    assert!(world.counts("trainmesh_admission_reviews_total{outcome=\"rehearsed\"} 1"));
    assert!(
        world.counts("trainmesh_rule_outcomes_total{rule=\"mesh.hold\",outcome=\"applied\",reason=\"HoldAdded\"} 3")
    );
    let metrics = client::get(world.admin, "/metrics").await.unwrap();
    assert!(metrics.head.contains("application/openmetrics-text"), "{}", metrics.head);
    assert!(metrics.body.ends_with("# EOF\n"));
}

#[rstest]
#[case::namespace_unknown(
    "/mutate",
    review("broken"),
    500,
    "the labels of the namespace are not known",
    "namespace_failed"
)]
#[case::panic("/mutate", review("panic"), 500, "the review ended in a panic", "panicked")]
#[case::not_json("/mutate", b"{".to_vec(), 400, "the body is not an admission review", "malformed")]
#[case::empty("/audit", Vec::new(), 400, "the body is not an admission review", "malformed")]
#[case::no_pod("/mutate", review_of("team-a", &Value::Null), 400, "has no object", "malformed")]
#[case::too_large("/mutate", vec![b' '; 4 * MIB + 1], 413, "longer than 4194304 bytes", "too_large")]
#[tokio::test]
async fn what_goes_wrong_is_no_review(
    #[case] path: &str,
    #[case] body: Vec<u8>,
    #[case] status: u16,
    #[case] message: &str,
    #[case] outcome: &str,
) {
    let world = World::ready().await;
    let mut connection = world.connect().await;
    // The reply to a body that is too large comes before all of it is sent.
    let (mut reading, mut writing) = tokio::io::split(&mut connection);
    let sending = async { drop(client::send(&mut writing, path, &body).await) };
    let ((), reply) = tokio::join!(sending, client::reply(&mut reading));
    let reply = reply.unwrap();
    assert_eq!(reply.status, status, "{reply:?}");
    assert!(reply.body.contains(message), "{reply:?}");
    assert!(world.counts(&format!("trainmesh_admission_reviews_total{{outcome=\"{outcome}\"}} 1")));
    let again = post(&mut world.connect().await, "/mutate", &review("team-a")).await;
    assert_eq!(again.status, 200, "the server serves on");
}

#[rstest]
#[case::other_path("POST /validate", 404)]
#[case::other_method("GET /mutate", 405)]
#[case::metrics_are_not_here("GET /metrics", 404)]
#[tokio::test]
async fn other_requests(#[case] request: &str, #[case] status: u16) {
    let world = World::ready().await;
    let mut connection = world.connect().await;
    connection.write_all(format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(client::reply(&mut connection).await.unwrap().status, status);
}

#[tokio::test]
async fn without_a_configuration_the_policy_decides() {
    let world = World::ready().await;
    let pair = crate::world::Pair::lasting(1);
    let served = std::sync::Arc::clone(&world.served);
    served.replace(pair.certificate());
    let drain = trainmesh::webhook::Drain { wait: Duration::ZERO, grace: Duration::ZERO };
    let world = World::start(&pair, served, drain).await;
    let reply = post(&mut world.connect().await, "/mutate", &review("team-a")).await;
    assert_eq!(reply.status, 500);
    assert_eq!(reply.body, "no configuration is in force yet\n");
}

#[tokio::test]
async fn a_lookup_beyond_the_deadline_of_a_call_is_an_error_of_its_own() {
    let world = World::ready().await;
    let reply = post(&mut world.connect().await, "/mutate?timeout=1s", &review("slow")).await;
    assert_eq!((reply.status, reply.body.as_str()), (500, "no answer in time\n"));
    assert!(world.counts("trainmesh_admission_reviews_total{outcome=\"deadline\"} 1"));
}

#[tokio::test]
async fn a_length_over_the_limit_is_refused_before_its_body_is_sent() {
    let world = World::ready().await;
    let mut connection = world.connect().await;
    connection.write_all(b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n").await.unwrap();
    assert_eq!(client::reply(&mut connection).await.unwrap().status, 413);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_dropped() {
    let world = World::ready().await;
    let mut connection = world.connect().await;
    let head = b"POST /mutate?timeout=1s HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{";
    connection.write_all(head).await.unwrap();
    let reply = client::reply(&mut connection).await.unwrap();
    assert_eq!((reply.status, reply.body.as_str()), (408, "the body did not arrive in time\n"));
    assert!(world.counts("trainmesh_admission_reviews_total{outcome=\"body_timeout\"} 1"));
    assert!(reply.closes());
    client::closed(&mut connection).await;
}

#[tokio::test]
async fn a_large_pod_is_answered_too() {
    let world = World::ready().await;
    let env: Vec<Value> =
        (0..16_000).map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "some text"})).collect();
    let pod = json!({"metadata": {}, "spec": {"containers": [{"name": "train", "image": "i", "env": env}]}});
    let body = review_of("team-a", &pod);
    assert!(body.len() > MIB / 2);
    let reply = post(&mut world.connect().await, "/mutate", &body).await;
    assert_eq!(reply.status, 200);
    assert!(reply.body.contains("JSONPatch"));
}
