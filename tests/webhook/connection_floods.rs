//! Connection floods: probes and reviews are still served.

use std::net::SocketAddr;

use rustls::version::TLS13;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use trainmesh::webhook::ClientVerifier;

use crate::client::{self, Tls, post, reply, send};
use crate::client_ca::ClientCa;
use crate::test_server::{TestServer, review};
use crate::wait_until;

/// More connections than any server keeps open.
const FLOOD: usize = 1_100;
/// The first bytes of a `ClientHello` that is never completed.
const PARTIAL_CLIENT_HELLO: &[u8] = &[22, 3, 1, 2, 0, 1];
/// Serializes the floods: together they would exceed the limit on file descriptors.
static FLOOD_LOCK: Mutex<()> = Mutex::const_new(());
/// Number of requests that a client pipelines on one connection without reading responses.
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

async fn tls_flood(server: &TestServer, count: usize) -> Vec<Tls> {
    let mut flood = Vec::new();
    for _ in 0..count {
        flood.push(server.connect().await);
    }
    flood
}

async fn assert_serves(server: &TestServer) {
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(client::get(server.admin, path).await.unwrap().status, 200, "{path}");
    }
    assert_eq!(post(&mut server.connect().await, "/mutate", &review("team-a")).await.status, 200);
}

#[tokio::test]
async fn idle_connections_block_no_probe() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let _silent = plain_flood(server.admin, FLOOD, b"").await;
    assert_serves(&server).await;
    let _half = plain_flood(server.admin, FLOOD, b"GET /metrics HTTP/1.1\r\n").await;
    assert_serves(&server).await;
}

#[tokio::test]
async fn idle_connections_block_no_review() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let _idle = tls_flood(&server, FLOOD).await;
    assert_serves(&server).await;
}

#[tokio::test]
async fn stalled_bodies_block_no_review() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let mut flood = tls_flood(&server, FLOOD).await;
    for stream in &mut flood {
        // The server has closed most of them already.
        let _ = stream.write_all(b"POST /mutate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{").await;
    }
    assert_serves(&server).await;
}

#[tokio::test]
async fn responses_that_are_never_read_block_no_probe() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let pipelined = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(PIPELINED);
    let _unread = plain_flood(server.admin, FLOOD, &pipelined).await;
    assert_serves(&server).await;
}

#[tokio::test]
async fn a_response_that_is_never_read_is_cut_off() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let mut stream = TcpStream::connect(server.admin).await.unwrap();
    let cut = async { while stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await.is_ok() {} };
    assert!(tokio::time::timeout(crate::TIMEOUT, cut).await.is_ok(), "the server still waits for its reader");
}

#[tokio::test]
async fn an_incomplete_handshake_is_evicted_before_its_timeout() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let _half = plain_flood(server.address, 2 * FLOOD, PARTIAL_CLIENT_HELLO).await;
    assert_serves(&server).await;
    assert!(
        server.has_metric("trainmesh_tls_handshake_failures_total{reason=\"timeout\"} 0"),
        "no handshake may time out"
    );
}

#[tokio::test]
async fn a_review_in_progress_survives_a_flood() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let mut calling = server.connect().await;
    send(&mut calling, "/mutate?timeout=30s", &review("slow")).await.unwrap();
    server.namespaces.waiting.acquire().await.unwrap().forget();
    let _silent = plain_flood(server.address, 2_000, b"").await;
    let _idle = tls_flood(&server, FLOOD).await;
    server.namespaces.answers.add_permits(1);
    assert_eq!(reply(&mut calling).await.unwrap().status, 200);
}

#[tokio::test]
async fn an_idle_connection_of_a_verified_client_survives_a_flood() {
    let _lock = FLOOD_LOCK.lock().await;
    let ca = ClientCa::new("clients");
    let server = TestServer::verifying(ClientVerifier::parse(ca.pem.as_bytes()).unwrap()).await;
    let stream = TcpStream::connect(server.address).await.unwrap();
    let mut idle = client::secure(stream, &server.root, &[&TLS13], Some(ca.client())).await.unwrap();
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
    let _silent = plain_flood(server.address, 2_000, b"").await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
}

/// Behind source NAT, an apiserver shares its address with other clients.
#[tokio::test]
async fn an_idle_connection_with_a_review_outlives_those_without() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let mut idle = server.connect().await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
    let _without = tls_flood(&server, FLOOD).await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
}

#[tokio::test]
async fn the_peer_with_the_most_connections_loses_its_idle_ones() {
    let _lock = FLOOD_LOCK.lock().await;
    let server = TestServer::ready().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut modest =
        client::secure(socket.connect(server.address).await.unwrap(), &server.root, &[&TLS13], None).await.unwrap();
    assert_eq!(post(&mut modest, "/mutate", &review("team-a")).await.status, 200);
    let mut greedy = Vec::new();
    for _ in 0..FLOOD {
        let mut connection = server.connect().await;
        assert_eq!(post(&mut connection, "/mutate", &review("team-a")).await.status, 200);
        greedy.push(connection);
    }
    assert_eq!(
        post(&mut modest, "/mutate", &review("team-a")).await.status,
        200,
        "the idle connection must survive although it is the oldest"
    );
    client::wait_closed(&mut greedy[0]).await;
    wait_until("evictions are counted", || async {
        let text = server.metrics.encode();
        text.contains("trainmesh_connection_evictions_total{server=\"webhook\",reason=\"idle\"}")
    })
    .await;
}
