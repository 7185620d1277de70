//! The address families on which a server listens.

use std::net::{Ipv4Addr, SocketAddr};

use rstest::rstest;
use tokio::net::TcpStream;
use trainmesh::serve;

/// A client of IPv4 connects to the port.
#[rstest]
#[case::both("[::]:0", true)]
#[case::ipv4("0.0.0.0:0", true)]
#[case::ipv6_loopback("[::1]:0", false)]
#[tokio::test]
async fn listens(#[case] address: SocketAddr, #[case] ipv4: bool) {
    let listener = serve::listen(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok(), ipv4);
}
