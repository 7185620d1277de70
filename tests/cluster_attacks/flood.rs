//! Attacks on a port, each for as long as it is told, and bounded in what it opens.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use trainmesh_testing::tls::{Tls, post};

use crate::network::{Dialer, connect, head};

/// More than a server keeps.
pub const CONNECTIONS: usize = 1_100;
/// Between two looks at its connections.
const PAUSE: Duration = Duration::from_millis(250);
/// What a flood opens at once at most: until it has opened [`CONNECTIONS`], and then for those that the server has closed. A
/// higher rate would take the machine's time from the neighbor, not the server's places.
const OPENED: (usize, usize) = (40, 5);
/// Requests that are written in one piece.
const PIPELINE: usize = 64;
/// How long a client waits for the server to read or write anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// Holds connections on which nothing is said.
pub fn idle(address: SocketAddr, until: Instant) {
    hold(until, || connect(address), |_| Ok(()));
}

/// Holds connections whose handshake is complete, and on which nothing is said.
pub fn idle_tls(dialer: &Dialer, address: SocketAddr, until: Instant) {
    hold(until, || dialer.connect(address, PATIENCE), |_| Ok(()));
}

/// Requests metrics again and again, and never reads them.
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

/// Posts all but the last byte of bodies of 255 KiB, with the longest time that the apiserver could grant.
pub fn stalled_bodies(dialer: &Dialer, address: SocketAddr, count: usize, until: Instant) {
    let body = vec![b' '; 255 * 1024];
    let mut held: Vec<Tls> = Vec::new();
    while Instant::now() < until {
        if held.len() < count
            && let Ok(mut stream) = dialer.connect(address, PATIENCE)
        {
            let sent = stream
                .write_all(head("/mutate?timeout=30s", body.len()).as_bytes())
                .and_then(|()| stream.write_all(&body[1..]));
            // A server that replies early or closes has rejected it.
            held.extend(sent.and_then(|()| stream.sock.set_nonblocking(true)).is_ok().then_some(stream));
        } else {
            held.retain(|stream| alive(&stream.sock));
            thread::sleep(PAUSE);
        }
    }
}

/// Posts these bodies in turn, over one connection for as long as the server keeps it.
pub fn posts(dialer: &Dialer, address: SocketAddr, bodies: &[Vec<u8>], until: Instant) {
    let mut open: Option<Tls> = None;
    for body in bodies.iter().cycle() {
        if Instant::now() >= until {
            break;
        }
        let Some(mut stream) = open.take().or_else(|| dialer.connect(address, PATIENCE).ok()) else { continue };
        open = post(&mut stream, "/mutate", body).is_ok().then_some(stream);
    }
}

/// A connection that can be looked at.
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

/// Keeps [`CONNECTIONS`] open, replaces those that the server closes, and does `speak` on each again and again.
fn hold<S: Socket>(until: Instant, open: impl Fn() -> io::Result<S>, speak: impl Fn(&S) -> io::Result<()>) {
    let mut held: Vec<S> = Vec::new();
    let mut opened = 0;
    while Instant::now() < until {
        let budget = if opened < CONNECTIONS { OPENED.0 } else { OPENED.1 };
        for _ in 0..budget.min(CONNECTIONS - held.len()) {
            // The queue of a server that accepts nobody is full at some time.
            let Ok(stream) = open() else { break };
            stream.socket().set_nonblocking(true).expect("a socket");
            held.push(stream);
            opened += 1;
        }
        held.retain(|stream| alive(stream.socket()) && speak(stream).is_ok());
        thread::sleep(PAUSE);
    }
}

/// Whether the server has not closed it. What it has sent stays unread.
fn alive(socket: &TcpStream) -> bool {
    let mut byte = [0];
    match socket.peek(&mut byte) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}
