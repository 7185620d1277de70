//! A client of the webhook that is not the apiserver.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::Process;
use crate::cluster::PATIENCE;

/// A connection with TLS.
pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

/// Connects, with the handshake done.
pub fn connect(process: &Process) -> io::Result<Tls> {
    let mut roots = RootCertStore::empty();
    roots.add(process.certificate.der.clone()).map_err(io::Error::other)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let socket = TcpStream::connect(process.listen)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Posts a body; the connection stays open.
pub fn post(stream: &mut Tls, path: &str, body: &[u8]) -> io::Result<Reply> {
    write!(stream, "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    stream.flush()?;
    let (head, body) = receive(stream)?;
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok(Reply { status, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Reads one message: its head in lower case, and its body.
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
