//! Slow, silent and hostile clients do not delay others.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::{post, wait_closed};
use crate::test_server::{TestServer, review};
use crate::wait_until;

#[tokio::test]
async fn half_open_connections_do_not_delay_others() {
    let server = TestServer::ready().await;
    let mut silent = Vec::new();
    let mut half = Vec::new();
    for _ in 0..50 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
        let mut connection = server.connect().await;
        connection.write_all(b"POST /mutate HTTP/1.1\r\nContent-Length: 9000000").await.unwrap();
        half.push(connection);
    }
    let reply = post(&mut server.connect().await, "/mutate", &review("team-a")).await;
    assert_eq!(reply.status, 200);
    wait_closed(&mut half[0]).await;
    // Without a ClientHello, the handshake eventually times out.
    wait_closed(&mut silent[0]).await;
}

#[tokio::test]
async fn a_slow_header_is_cut_off_and_an_idle_connection_is_not() {
    let server = TestServer::ready().await;
    let mut idle = server.connect().await;
    assert_eq!(post(&mut idle, "/mutate", &review("team-a")).await.status, 200);
    let mut slow = server.connect().await;
    slow.write_all(b"POST /mutate HTTP/1.1\r\n").await.unwrap();
    wait_closed(&mut slow).await;
    assert_eq!(
        post(&mut idle, "/mutate", &review("team-a")).await.status,
        200,
        "the idle connection is older than the slow one"
    );
}

#[tokio::test]
async fn failed_handshakes_are_counted_and_port_checks_are_not() {
    let server = TestServer::ready().await;
    for _ in 0..20 {
        drop(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(post(&mut server.connect().await, "/mutate", &review("team-a")).await.status, 200);
    let failures = |reason, count| format!("trainmesh_tls_handshake_failures_total{{reason=\"{reason}\"}} {count}");
    for reason in ["closed", "not_tls", "certificate_rejected", "timeout", "other"] {
        assert!(server.has_metric(&failures(reason, 0)), "{reason}: port checks must not be counted");
    }
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET /mutate HTTP/1.1\r\n\r\n").await.unwrap();
    wait_until("a client without TLS is counted", || async { server.has_metric(&failures("not_tls", 1)) }).await;
    // A client that trusts another certificate.
    let other = crate::test_server::CertificatePair::valid_for_days(1);
    let versions = [&rustls::version::TLS13];
    crate::client::connect(server.address, &other.der, &versions).await.unwrap_err();
    wait_until("a client that rejects the certificate is counted", || async {
        server.has_metric(&failures("certificate_rejected", 1))
    })
    .await;
}
