//! A forwarder of connections on loopback, which a test turns elsewhere or cuts: it plays a network, or a Service.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Forwards to its target; where there is none, connections end at once.
pub struct Relay {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    target: Option<SocketAddr>,
    open: Vec<TcpStream>,
}

impl Relay {
    /// Forwards until the tests end.
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { target: Some(target), open: Vec::new() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A connection that cannot be forwarded is dropped, which the client sees.
                let _ = forward(client, &shared);
            }
        });
        Self { address, state }
    }

    /// Sends new connections to `target`; those that are open stay where they are.
    pub fn turn(&self, target: SocketAddr) {
        self.state.lock().unwrap().target = Some(target);
    }

    /// Ends all connections and takes no more.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.target = None;
        for stream in state.open.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn forward(client: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut state = state.lock().unwrap();
    let Some(target) = state.target else { return Ok(()) };
    let server = TcpStream::connect(target)?;
    state.open.extend([client.try_clone()?, server.try_clone()?]);
    for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        thread::spawn(move || {
            // However one half ends, the other side is told of it.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}
