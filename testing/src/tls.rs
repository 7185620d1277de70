//! A TLS client for the webhook that can also misbehave, unlike the apiserver.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Limit for a connection, a handshake or a call on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);

/// A TLS connection.
pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// An HTTP response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// True if the server closes the connection after this response.
    pub closes: bool,
    pub body: String,
}

/// Connects, trusting the PEM `bundle` and expecting the name `host`, and completes the handshake.
pub fn connect(address: SocketAddr, bundle: &str, host: &str) -> io::Result<Tls> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(root.map_err(io::Error::other)?).map_err(io::Error::other)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let socket = TcpStream::connect_timeout(&address, TIMEOUT)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Returns the certificate that the server presents to such a client.
pub fn served_certificate(address: SocketAddr, bundle: &str, host: &str) -> io::Result<CertificateDer<'static>> {
    let stream = connect(address, bundle, host)?;
    let chain = stream.conn.peer_certificates().unwrap_or_default();
    chain
        .first()
        .map(|certificate| certificate.clone().into_owned())
        .ok_or_else(|| io::Error::other("no certificate was presented"))
}

/// Posts a body and reads the response, which a server may send before it has read all of the body.
pub fn post(stream: &mut Tls, path: &str, body: &[u8]) -> io::Result<Reply> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n", body.len());
    let written = stream.write_all(&[head.as_bytes(), body].concat()).and_then(|()| stream.flush());
    reply(stream).map_err(|error| written.err().unwrap_or(error))
}

/// Reads a response.
pub fn reply(stream: &mut impl io::Read) -> io::Result<Reply> {
    let (head, body) = receive(stream)?;
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, head.clone()))?;
    let closes = head.contains("\r\nconnection: close");
    Ok(Reply { status, closes, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Reads one HTTP message and returns its head, in lower case, and its body.
pub fn receive(stream: &mut impl io::Read) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}
