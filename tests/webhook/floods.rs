//! Connections without number: probes and reviews are still answered.

use std::net::SocketAddr;

use rustls::version::TLS13;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use trainmesh::webhook::ClientVerifier;

use crate::client::{self, Tls, post, reply, send};
use crate::client_ca::ClientCa;
use crate::until;
use crate::world::{World, review};

/// More than any server keeps open.
const FLOOD: usize = 1_100;
/// The first bytes of a `ClientHello`, whose rest never comes.
const HALF_A_HELLO: &[u8] = &[22, 3, 1, 2, 0, 1];
/// One flood at a time: together they would need more file descriptors than a process may have.
static TURN: Mutex<()> = Mutex::const_new(());
/// Requests that are sent at once, on one connection, by a client that reads no response.
const PIPELINED: usize = 200;

async fn plain(address: SocketAddr, first: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(first).await.unwrap();
    stream
}

async fn plain_flood(address: SocketAddr, count: usize, first: &[u8]) -> Vec<TcpStream> {
    let mut flood = Vec::new();
    for _ in 0..count {
        flood.push(plain(address, first).await);
    }
    flood
}

async fn tls_flood(world: &World, count: usize) -> Vec<Tls> {
    let mut flood = Vec::new();
    for _ in 0..count {
        flood.push(world.connect().await);
    }
    flood
}

async fn assert_answers(world: &World) {
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(client::get(world.admin, path).await.unwrap().status, 200, "{path}");
    }
    assert_eq!(post(&mut world.connect().await, "/mutate", &review("team-a")).await.status, 200);
}

#[tokio::test]
async fn idle_connections_block_no_probe() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let _silent = plain_flood(world.admin, FLOOD, b"").await;
    assert_answers(&world).await;
    let _half = plain_flood(world.admin, FLOOD, b"GET /metrics HTTP/1.1\r\n").await;
    assert_answers(&world).await;
}

#[tokio::test]
async fn idle_connections_block_no_review() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let _idle = tls_flood(&world, FLOOD).await;
    assert_answers(&world).await;
}

#[tokio::test]
async fn stalled_bodies_block_no_review() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let mut flood = tls_flood(&world, FLOOD).await;
    for stream in &mut flood {
        // Most of them have been closed by the server already.
        let _ = stream.write_all(b"POST /mutate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{").await;
    }
    assert_answers(&world).await;
}

#[tokio::test]
async fn responses_that_are_never_read_block_no_probe() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let pipelined = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(PIPELINED);
    let _unread = plain_flood(world.admin, FLOOD, &pipelined).await;
    assert_answers(&world).await;
}

#[tokio::test]
async fn a_response_that_is_never_read_is_cut_off() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let mut stream = TcpStream::connect(world.admin).await.unwrap();
    let cut = async { while stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await.is_ok() {} };
    assert!(tokio::time::timeout(crate::PATIENCE, cut).await.is_ok(), "the server waits for its reader");
}

#[tokio::test]
async fn half_a_handshake_makes_room_before_its_time_is_over() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let _half = plain_flood(world.address, 2 * FLOOD, HALF_A_HELLO).await;
    assert_answers(&world).await;
    assert!(world.counts("trainmesh_tls_handshake_failures_total{reason=\"timeout\"} 0"), "none waited for its end");
}

#[tokio::test]
async fn a_review_in_progress_survives_a_flood() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let mut calling = world.connect().await;
    send(&mut calling, "/mutate?timeout=30s", &review("slow")).await.unwrap();
    world.facts.waiting.acquire().await.unwrap().forget();
    let _silent = plain_flood(world.address, 2_000, b"").await;
    let _idle = tls_flood(&world, FLOOD).await;
    world.facts.answers.add_permits(1);
    assert_eq!(reply(&mut calling).await.unwrap().status, 200);
}

#[tokio::test]
async fn an_idle_connection_of_a_verified_client_survives_a_flood() {
    let _turn = TURN.lock().await;
    let ca = ClientCa::new("clients");
    let world = World::verifying(ClientVerifier::parse(ca.pem.as_bytes()).unwrap()).await;
    let stream = TcpStream::connect(world.address).await.unwrap();
    let mut idle = client::secure(stream, &world.root, &[&TLS13], Some(ca.client())).await.unwrap();
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
    let _silent = plain_flood(world.address, 2_000, b"").await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
}

/// Behind source NAT an apiserver shares its address with everybody.
#[tokio::test]
async fn an_idle_connection_that_has_served_a_review_outlives_those_without_one() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let mut kept = world.connect().await;
    assert_eq!(post(&mut kept, "/mutate", &review("team-a")).await.status, 200);
    let _without = tls_flood(&world, FLOOD).await;
    assert_eq!(post(&mut kept, "/mutate", &review("team-a")).await.status, 200);
}

#[tokio::test]
async fn the_peer_that_holds_most_loses_its_idle_connections() {
    let _turn = TURN.lock().await;
    let world = World::ready().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut modest =
        client::secure(socket.connect(world.address).await.unwrap(), &world.root, &[&TLS13], None).await.unwrap();
    assert_eq!(post(&mut modest, "/mutate", &review("team-a")).await.status, 200);
    let mut greedy = Vec::new();
    for _ in 0..FLOOD {
        let mut connection = world.connect().await;
        assert_eq!(post(&mut connection, "/mutate", &review("team-a")).await.status, 200);
        greedy.push(connection);
    }
    assert_eq!(post(&mut modest, "/mutate", &review("team-a")).await.status, 200, "idle, and older than all others");
    client::closed(&mut greedy[0]).await;
    until("evictions are counted", || async {
        let text = world.metrics.encode();
        text.contains("trainmesh_connection_evictions_total{server=\"webhook\",reason=\"idle\"}")
    })
    .await;
}
