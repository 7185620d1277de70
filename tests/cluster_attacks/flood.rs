//! Attacks on a port, with a bounded duration and number of connections.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use trainmesh_testing::tls::{Tls, post};

use crate::network::{Dialer, connect, head};

/// More connections than a server keeps.
pub const CONNECTIONS: usize = 1_100;
/// Interval between checks of the connections.
const INTERVAL: Duration = Duration::from_millis(250);
/// Connections to open in one interval: until [`CONNECTIONS`] are open, and then to replace those that the server
/// closes. A higher rate would take CPU time from the neighbor rather than connections from the server.
const OPEN_RATE: (usize, usize) = (40, 5);
/// Number of requests in one write.
const PIPELINE: usize = 64;
/// Time to wait for the server to read or write.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Holds silent connections.
pub fn idle(address: SocketAddr, until: Instant) {
    hold(until, || connect(address), |_| Ok(()));
}

/// Holds silent connections with a completed handshake.
pub fn idle_tls(dialer: &Dialer, address: SocketAddr, until: Instant) {
    hold(until, || dialer.connect(address, TIMEOUT), |_| Ok(()));
}

/// Requests metrics repeatedly and never reads them.
pub fn unread_metrics(address: SocketAddr, until: Instant) {
    let requests = "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n".repeat(PIPELINE);
    hold(
        until,
        || connect(address),
        |mut stream: &TcpStream| {
            loop {
                match stream.write(requests.as_bytes()) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        },
    );
}

/// Posts all but the last byte of bodies of 255 KiB, with the longest timeout that the apiserver allows.
pub fn stalled_bodies(dialer: &Dialer, address: SocketAddr, count: usize, until: Instant) {
    let body = vec![b' '; 255 * 1024];
    let mut connections: Vec<Tls> = Vec::new();
    while Instant::now() < until {
        if connections.len() < count
            && let Ok(mut stream) = dialer.connect(address, TIMEOUT)
        {
            let sent = stream
                .write_all(head("/mutate?timeout=30s", body.len()).as_bytes())
                .and_then(|()| stream.write_all(&body[1..]));
            // If the server replies early or closes the connection, it has rejected the body.
            connections.extend(sent.and_then(|()| stream.sock.set_nonblocking(true)).is_ok().then_some(stream));
        } else {
            connections.retain(|stream| is_open(&stream.sock));
            thread::sleep(INTERVAL);
        }
    }
}

/// Posts these bodies in turn, reusing the connection while the server keeps it open.
pub fn posts(dialer: &Dialer, address: SocketAddr, bodies: &[Vec<u8>], until: Instant) {
    let mut open: Option<Tls> = None;
    for body in bodies.iter().cycle() {
        if Instant::now() >= until {
            break;
        }
        let Some(mut stream) = open.take().or_else(|| dialer.connect(address, TIMEOUT).ok()) else { continue };
        open = post(&mut stream, "/mutate", body).is_ok().then_some(stream);
    }
}

/// Access to the TCP socket of a connection.
trait Socket {
    fn socket(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Socket for Tls {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

/// Keeps [`CONNECTIONS`] connections open, replaces those that the server closes, and runs `send` on each repeatedly.
fn hold<S: Socket>(until: Instant, open: impl Fn() -> io::Result<S>, send: impl Fn(&S) -> io::Result<()>) {
    let mut connections: Vec<S> = Vec::new();
    let mut opened = 0;
    while Instant::now() < until {
        let budget = if opened < CONNECTIONS { OPEN_RATE.0 } else { OPEN_RATE.1 };
        for _ in 0..budget.min(CONNECTIONS - connections.len()) {
            // If the server does not accept, its backlog fills up.
            let Ok(stream) = open() else { break };
            stream.socket().set_nonblocking(true).expect("a socket");
            connections.push(stream);
            opened += 1;
        }
        connections.retain(|stream| is_open(stream.socket()) && send(stream).is_ok());
        thread::sleep(INTERVAL);
    }
}

/// Returns true if the server has not closed the connection. Received data stays unread.
fn is_open(socket: &TcpStream) -> bool {
    let mut byte = [0];
    match socket.peek(&mut byte) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}
