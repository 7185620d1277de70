//! The process of a server, which is started again if it has lost its lease.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use serde_json::Value;

/// Interval between two looks at the process.
const INTERVAL: Duration = Duration::from_millis(200);
/// Message of a controller that exits because it has lost its lease.
const LOST_LEASE: &str = "this replica is no longer the leader";
/// Most restarts of a process. A controller that loses its lease more often on a busy machine has a defect.
const MAX_RESTARTS: usize = 2;
/// Signals by which a test terminates the process.
const TERMINATING: [&str; 2] = ["KILL", "TERM"];

/// The process of a server.
#[derive(Debug)]
pub(super) struct Supervised(Mutex<State>);

#[derive(Debug)]
struct State {
    program: Command,
    child: Child,
    /// Address of the admin port.
    admin: Option<SocketAddr>,
    log: PathBuf,
    /// Length of the log at the start of the process.
    logged: usize,
    restarts: usize,
    /// True if the test has terminated the process.
    is_terminated: bool,
}

impl Supervised {
    /// Starts `program`, which writes its log to the file `log`.
    pub(super) fn start(mut program: Command, log: PathBuf) -> Self {
        let child = program.spawn().expect("start trainmesh");
        Self(Mutex::new(State { program, child, admin: None, log, logged: 0, restarts: 0, is_terminated: false }))
    }

    /// Starts the process again if it has lost its lease, at most [`MAX_RESTARTS`] times, until the test terminates it.
    pub(super) fn supervise(&self) {
        while self.state().restart() {
            thread::sleep(INTERVAL);
        }
    }

    /// Returns the address of the admin port; port 0 after a restart, until it is known.
    pub(super) fn admin(&self) -> SocketAddr {
        self.state().admin.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    pub(super) fn set_admin(&self, admin: SocketAddr) {
        self.state().admin = Some(admin);
    }

    pub(super) fn exit_status(&self) -> Option<ExitStatus> {
        self.state().child.try_wait().expect("poll the process")
    }

    pub(super) fn signal(&self, name: &str) -> ExitStatus {
        let mut state = self.state();
        state.is_terminated |= TERMINATING.contains(&name);
        let id = state.child.id().to_string();
        Command::new("kill").args(["-s", name, &id]).status().expect("start kill")
    }

    /// Kills the process, unless it has exited, and waits for its exit.
    pub(super) fn kill(&self) {
        let mut state = self.state();
        state.is_terminated = true;
        // Fails if the process has exited.
        let _ = state.child.kill();
        let _ = state.child.wait();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Starts the process again if it has lost its lease. Returns false if it has exited for another reason, or too often.
    fn restart(&mut self) -> bool {
        if self.is_terminated {
            return false;
        }
        let status = self.child.try_wait().expect("poll the process");
        if status.is_none() && self.admin.is_some() {
            return true;
        }
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let recent = text.get(self.logged..).unwrap_or_default();
        if status.is_none() {
            self.admin = recent.lines().find_map(admin_address);
            return true;
        }
        let restarts = recent.contains(LOST_LEASE) && self.restarts < MAX_RESTARTS;
        if restarts {
            self.child = self.program.spawn().expect("start trainmesh");
            self.restarts += 1;
            (self.admin, self.logged) = (None, text.len());
        }
        restarts
    }
}

/// Returns the address of the admin port in the first line of a log.
fn admin_address(line: &str) -> Option<SocketAddr> {
    let event: Value = serde_json::from_str(line).ok()?;
    event["admin"].as_str()?.parse().ok()
}
