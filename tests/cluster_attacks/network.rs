//! Connections of a client without credentials, from an address of its own: as those of a pod are, to which the replicas must
//! not count those of the kubelet and of the apiserver.

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

/// Where hostile connections come from: a range for documentation, which only the cluster's own network knows.
const SOURCE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// How long a client waits for its connection: once the listener's queue is full, the kernel answers nobody.
const CONNECT: Duration = Duration::from_secs(2);
/// Descriptors of this process: six replicas' ports with a thousand connections and more each.
const DESCRIPTORS: &str = "--nofile=16384:";

/// Opens TLS connections to the webhook.
#[derive(Clone, Debug)]
pub struct Dialer {
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
}

impl Dialer {
    /// Trusts `bundle`, and calls by the name `host`.
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

    /// Connects as a hostile client, with the handshake done; reads and writes wait for `patience` at most.
    pub fn connect(&self, address: SocketAddr, patience: Duration) -> io::Result<Tls> {
        self.handshake(connect(address)?, patience)
    }

    /// Connects as the apiserver does: from the node's address.
    pub fn connect_from_node(&self, address: SocketAddr, patience: Duration) -> io::Result<Tls> {
        self.handshake(TcpStream::connect_timeout(&address, patience)?, patience)
    }

    fn handshake(&self, socket: TcpStream, patience: Duration) -> io::Result<Tls> {
        let connection =
            ClientConnection::new(Arc::clone(&self.config), self.host.clone()).map_err(io::Error::other)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
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
        timeout(CONNECT, socket.connect(address)).await?
    });
    let stream = connected?.into_std()?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Status and body of a page without TLS, as the kubelet requests it: from the node's address.
pub fn get(address: SocketAddr, path: &str, patience: Duration) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")?;
    reply(&mut stream).map(|Reply { status, body, .. }| (status, body))
}

/// The head of a call that posts so many bytes.
pub fn head(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
}

/// Raises the number of open files, and adds [`SOURCE`] to the cluster's network, which takes it along when it goes.
fn prepare() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let run = |program: &str, arguments: &[&str]| {
            let done = Command::new(program).args(arguments).status();
            assert!(done.is_ok_and(|status| status.success()), "{program} {arguments:?} failed");
        };
        run("prlimit", &["--pid", &process::id().to_string(), DESCRIPTORS]);
        run("ip", &["addr", "replace", &format!("{SOURCE}/32"), "dev", "lo"]);
    });
}
