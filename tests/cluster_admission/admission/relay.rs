//! A TCP relay on loopback whose target a test can change or remove: it stands for a network or a Service.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Forwards connections to its target; without one, it closes them.
pub struct Relay {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    target: Option<SocketAddr>,
    open: Vec<TcpStream>,
}

impl Relay {
    /// Starts a relay that runs until the tests end.
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { target: Some(target), open: Vec::new() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A connection that cannot be forwarded is dropped.
                let _ = forward(client, &shared);
            }
        });
        Self { address, state }
    }

    /// Forwards new connections to `target`; open ones are not changed.
    pub fn retarget(&self, target: SocketAddr) {
        self.state.lock().unwrap().target = Some(target);
    }

    /// Closes all connections and forwards no new ones.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.target = None;
        for stream in state.open.drain(..) {
            // The connection may have closed already.
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
            // When one half closes, close the other side too.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}
