//! Clients that are slow, silent or hostile keep nobody else waiting.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::{closed, post};
use crate::until;
use crate::world::{World, review};

#[tokio::test]
async fn half_open_connections_keep_nobody_waiting() {
    let world = World::ready().await;
    let mut silent = Vec::new();
    let mut half = Vec::new();
    for _ in 0..50 {
        silent.push(TcpStream::connect(world.address).await.unwrap());
        let mut connection = world.connect().await;
        connection.write_all(b"POST /mutate HTTP/1.1\r\nContent-Length: 9000000").await.unwrap();
        half.push(connection);
    }
    let reply = post(&mut world.connect().await, "/mutate", &review("team-a")).await;
    assert_eq!(reply.status, 200);
    closed(&mut half[0]).await;
    // No ClientHello: the handshake takes too long in the end.
    closed(&mut silent[0]).await;
}

#[tokio::test]
async fn a_slow_head_is_cut_and_an_idle_connection_is_not() {
    let world = World::ready().await;
    let mut idle = world.connect().await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
    let mut slow = world.connect().await;
    slow.write_all(b"POST /mutate HTTP/1.1\r\n").await.unwrap();
    closed(&mut slow).await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200, "older than the slow one");
}

#[tokio::test]
async fn failed_handshakes_are_counted_and_port_checks_are_not() {
    let world = World::ready().await;
    for _ in 0..20 {
        drop(TcpStream::connect(world.address).await.unwrap());
    }
    assert_eq!(post(&mut world.connect().await, "/mutate", &review("team-a")).await.status, 200);
    let failures = |reason, count| format!("trainmesh_tls_handshake_failures_total{{reason=\"{reason}\"}} {count}");
    for reason in ["closed", "not_tls", "certificate_rejected", "timeout", "other"] {
        assert!(world.counts(&failures(reason, 0)), "all port checks came before this call");
    }
    let mut plain = TcpStream::connect(world.address).await.unwrap();
    plain.write_all(b"GET /mutate HTTP/1.1\r\n\r\n").await.unwrap();
    until("a client without TLS", || async { world.counts(&failures("not_tls", 1)) }).await;
    // One more by a client that trusts somebody else.
    let stranger = crate::world::Pair::lasting(1);
    let versions = [&rustls::version::TLS13];
    crate::client::connect(world.address, &stranger.der, &versions).await.unwrap_err();
    until("a client that does not trust us", || async { world.counts(&failures("certificate_rejected", 1)) }).await;
}
