//! Connections of a client without credentials, from its own address, like those of a pod: the replicas must
//! distinguish them from those of the kubelet and the apiserver.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{self, Command};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use trainmesh_testing::tls::{Reply, Tls, reply};

/// Source address of hostile connections, from a documentation range; only the cluster's network routes it.
const SOURCE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// Time to wait for a connection: once the listener's backlog is full, the kernel drops connection requests.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Limit on open files of this process: more than a thousand connections to each port of six replicas.
const OPEN_FILES_OPTION: &str = "--nofile=16384:";

/// A client that opens TLS connections to the webhook.
#[derive(Clone, Debug)]
pub struct Dialer {
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
}

impl Dialer {
    /// Creates a client that trusts `bundle` and expects the host name `host`.
    pub fn new(bundle: &str, host: String) -> Self {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { config: Arc::new(config), host: ServerName::try_from(host).unwrap() }
    }

    /// Connects as a hostile client and completes the handshake; reads and writes time out after `io_timeout`.
    pub fn connect(&self, address: SocketAddr, io_timeout: Duration) -> io::Result<Tls> {
        self.handshake(connect(address)?, io_timeout)
    }

    /// Connects like the apiserver, from the node's address.
    pub fn connect_from_node(&self, address: SocketAddr, io_timeout: Duration) -> io::Result<Tls> {
        self.handshake(TcpStream::connect_timeout(&address, io_timeout)?, io_timeout)
    }

    fn handshake(&self, socket: TcpStream, io_timeout: Duration) -> io::Result<Tls> {
        let connection =
            ClientConnection::new(Arc::clone(&self.config), self.host.clone()).map_err(io::Error::other)?;
        socket.set_read_timeout(Some(io_timeout))?;
        socket.set_write_timeout(Some(io_timeout))?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }
}

/// Connects as a hostile client, without TLS.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    prepare();
    let connected = RUNTIME.get_or_init(|| Runtime::new().unwrap()).block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((SOURCE, 0).into())?;
        timeout(CONNECT_TIMEOUT, socket.connect(address)).await?
    });
    let stream = connected?.into_std()?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Gets a page without TLS like the kubelet, from the node's address, and returns its status and body.
pub fn get(address: SocketAddr, path: &str, io_timeout: Duration) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, io_timeout)?;
    stream.set_read_timeout(Some(io_timeout))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")?;
    reply(&mut stream).map(|Reply { status, body, .. }| (status, body))
}

/// Returns the header of a POST with this content length.
pub fn head(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
}

/// Raises the limit on open files, and adds [`SOURCE`] to the cluster's network, which is removed with the cluster.
fn prepare() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).status();
            assert!(done.is_ok_and(|status| status.success()), "{program} {arguments:?} failed");
        };
        run("prlimit", &["--pid", &process::id().to_string(), OPEN_FILES_OPTION]);
        run("ip", &["addr", "replace", &format!("{SOURCE}/32"), "dev", "lo"]);
    });
}
