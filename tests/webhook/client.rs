//! An HTTP/1.1 client that can also misbehave.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::TIMEOUT;

/// A TLS connection.
pub(crate) type Tls = TlsStream<TcpStream>;

/// An HTTP reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// Returns true if the server closes the connection after this reply.
    pub(crate) fn closes(&self) -> bool {
        self.head.to_ascii_lowercase().contains("\r\nconnection: close")
    }
}

/// Connects to `address`, trusting only `root`.
pub(crate) async fn connect(
    address: SocketAddr,
    root: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
) -> io::Result<Tls> {
    secure(TcpStream::connect(address).await?, root, versions, None).await
}

/// Performs a TLS handshake on `stream`, trusting only `root` and presenting `identity` if given.
pub(crate) async fn secure(
    stream: TcpStream,
    root: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    identity: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>,
) -> io::Result<Tls> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Some((certificate, key)) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = ServerName::try_from("webhook.test").unwrap();
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    tokio::time::timeout(TIMEOUT, connecting).await.expect("the handshake completes or the connection closes")
}

/// Sends a POST and reads the reply. The connection can be reused.
pub(crate) async fn post(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), path: &str, body: &[u8]) -> Reply {
    send(stream, path, body).await.unwrap();
    reply(stream).await.unwrap()
}

/// Sends a POST.
pub(crate) async fn send(stream: &mut (impl AsyncWrite + Unpin), path: &str, body: &[u8]) -> io::Result<()> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: webhook.test\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}

/// Sends a GET to the admin port.
pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes()).await?;
    reply(&mut stream).await
}

/// Reads one reply.
pub(crate) async fn reply(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Reply> {
    tokio::time::timeout(TIMEOUT, read(stream)).await.expect("a reply arrives or the connection closes")
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Reply> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let field = |name: &str| {
        head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name))
    };
    let length = field("content-length").map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok(Reply { status, head, body: String::from_utf8(body).unwrap() })
}

/// Waits until the server has closed the connection.
pub(crate) async fn wait_closed(stream: &mut (impl AsyncRead + Unpin)) {
    let mut rest = Vec::new();
    // A reset connection returns an error, a closed one does not.
    let end = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut rest)).await;
    assert!(end.is_ok(), "the connection is still open");
}
