//! How the server ends.

use std::time::Duration;

use rustls::version::TLS13;
use trainmesh::webhook::Drain;

use crate::client::{self, closed, post, reply, send};
use crate::world::{World, review};
use crate::{PATIENCE, until};

#[tokio::test]
async fn calls_in_flight_finish_and_idle_connections_close() {
    let world = World::ready().await;
    let mut idle = world.connect().await;
    assert!(!post(&mut idle, "/mutate", &review("team-a")).await.closes());
    let mut unused = world.connect().await;
    let mut calling = world.connect().await;
    send(&mut calling, "/mutate", &review("slow")).await.unwrap();
    world.facts.waiting.acquire().await.unwrap().forget();

    world.shutdown.cancel();
    closed(&mut idle).await;
    closed(&mut unused).await;
    until("new connections are refused", || async {
        client::connect(world.address, &world.root, &[&TLS13]).await.is_err()
    })
    .await;
    assert_eq!(client::get(world.admin, "/healthz").await.unwrap().status, 200, "the admin port stays to the end");
    world.facts.answers.add_permits(1);
    let last = reply(&mut calling).await.unwrap();
    assert_eq!(last.status, 200);
    assert!(last.closes(), "{last:?}");
    tokio::time::timeout(PATIENCE, world.ended).await.unwrap().unwrap();
    assert!(client::get(world.admin, "/healthz").await.is_err());
}

#[tokio::test]
async fn while_it_drains_the_server_is_not_ready_and_serves_on() {
    let world = World::draining(Drain { wait: PATIENCE, grace: Duration::ZERO }).await;
    let mut idle = world.connect().await;
    assert_eq!(world.readiness().await, (200, "ok\n".to_owned()));
    world.shutdown.cancel();
    assert_eq!(world.readiness().await, (503, "not ready: shutting down\n".to_owned()));
    for connection in [&mut idle, &mut world.connect().await] {
        let reply = post(connection, "/mutate", &review("team-a")).await;
        assert_eq!(reply.status, 200);
        assert!(!reply.closes(), "too early: the endpoints still lead here");
    }
    world.ended.abort();
}

#[tokio::test]
async fn in_the_second_half_every_answer_asks_for_another_connection() {
    let world = World::draining(Drain { wait: Duration::from_secs(4), grace: Duration::ZERO }).await;
    world.shutdown.cancel();
    until("an answer that closes its connection", || async {
        let mut connection = world.connect().await;
        let reply = post(&mut connection, "/mutate", &review("team-a")).await;
        assert_eq!(reply.status, 200);
        if reply.closes() {
            closed(&mut connection).await;
        }
        reply.closes()
    })
    .await;
    tokio::time::timeout(PATIENCE, world.ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_end_does_not_wait_for_ever() {
    let world = World::draining(Drain { wait: Duration::ZERO, grace: Duration::from_millis(50) }).await;
    let mut calling = world.connect().await;
    send(&mut calling, "/mutate?timeout=30s", &review("slow")).await.unwrap();
    world.facts.waiting.acquire().await.unwrap().forget();
    world.shutdown.cancel();
    tokio::time::timeout(PATIENCE, world.ended).await.unwrap().unwrap();
    closed(&mut calling).await;
}
