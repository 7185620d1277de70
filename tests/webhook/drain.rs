//! Graceful shutdown of the server.

use std::time::Duration;

use rustls::version::TLS13;
use trainmesh::webhook::Drain;

use crate::client::{self, post, reply, send, wait_closed};
use crate::test_server::{TestServer, review};
use crate::{TIMEOUT, wait_until};

#[tokio::test]
async fn draining_completes_reviews_in_flight_and_closes_idle_connections() {
    let server = TestServer::ready().await;
    let mut idle = server.connect().await;
    assert!(!post(&mut idle, "/mutate", &review("team-a")).await.closes());
    let mut unused = server.connect().await;
    let mut calling = server.connect().await;
    send(&mut calling, "/mutate", &review("slow")).await.unwrap();
    server.namespaces.waiting.acquire().await.unwrap().forget();

    server.shutdown.cancel();
    wait_closed(&mut idle).await;
    wait_closed(&mut unused).await;
    wait_until("new connections are refused", || async {
        client::connect(server.address, &server.root, &[&TLS13]).await.is_err()
    })
    .await;
    assert_eq!(
        client::get(server.admin, "/healthz").await.unwrap().status,
        200,
        "the admin port must serve until the end"
    );
    server.namespaces.answers.add_permits(1);
    let last = reply(&mut calling).await.unwrap();
    assert_eq!(last.status, 200);
    assert!(last.closes(), "{last:?}");
    tokio::time::timeout(TIMEOUT, server.task).await.unwrap().unwrap();
    assert!(client::get(server.admin, "/healthz").await.is_err());
}

#[tokio::test]
async fn a_draining_server_is_not_ready_but_serves() {
    let server = TestServer::draining(Drain { wait: TIMEOUT, grace: Duration::ZERO }).await;
    let mut idle = server.connect().await;
    assert_eq!(server.readiness().await, (200, "ok\n".to_owned()));
    server.shutdown.cancel();
    assert_eq!(server.readiness().await, (503, "not ready: shutting down\n".to_owned()));
    for connection in [&mut idle, &mut server.connect().await] {
        let reply = post(connection, "/mutate", &review("team-a")).await;
        assert_eq!(reply.status, 200);
        assert!(!reply.closes(), "too early: the endpoints still include this server");
    }
    server.task.abort();
}

#[tokio::test]
async fn replies_close_connections_in_the_second_half_of_draining() {
    let server = TestServer::draining(Drain { wait: Duration::from_secs(4), grace: Duration::ZERO }).await;
    server.shutdown.cancel();
    wait_until("a reply closes its connection", || async {
        let mut connection = server.connect().await;
        let reply = post(&mut connection, "/mutate", &review("team-a")).await;
        assert_eq!(reply.status, 200);
        if reply.closes() {
            wait_closed(&mut connection).await;
        }
        reply.closes()
    })
    .await;
    tokio::time::timeout(TIMEOUT, server.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn shutdown_is_bounded_by_the_grace_period() {
    let server = TestServer::draining(Drain { wait: Duration::ZERO, grace: Duration::from_millis(50) }).await;
    let mut calling = server.connect().await;
    send(&mut calling, "/mutate?timeout=30s", &review("slow")).await.unwrap();
    server.namespaces.waiting.acquire().await.unwrap().forget();
    server.shutdown.cancel();
    tokio::time::timeout(TIMEOUT, server.task).await.unwrap().unwrap();
    wait_closed(&mut calling).await;
}
