//! Runs `trainmesh webhook` or `trainmesh controller` as a process. Both have the same admin endpoints and log format.

mod supervisor;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use super::{TIMEOUT, eventually};
use supervisor::Supervised;

/// Name of the log in the folder of a server.
const LOG: &str = "log";

/// A running `trainmesh`, killed when it is dropped.
#[derive(Debug)]
pub struct Server {
    process: Arc<Supervised>,
    folder: TempDir,
}

/// Creates a temporary folder for the files of a server.
pub fn temp_folder() -> TempDir {
    tempfile::tempdir().expect("create a temporary folder")
}

/// Writes a file to `folder` and returns its path.
pub fn write_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("write a file");
    path
}

impl Server {
    /// Starts a server and waits for the first line of its log. `command` adds the subcommand and its flags; the log is
    /// written to `folder`.
    pub fn start(folder: TempDir, command: impl FnOnce(&mut Command)) -> Self {
        let path = folder.path().join(LOG);
        let log = File::create(&path).expect("create the log file");
        let mut program = Command::new(crate::program());
        command(&mut program);
        program
            .args(["--admin-listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug"])
            .env_remove("TRAINMESH_CONFIG")
            .stderr(Stdio::from(log));
        let process = Arc::new(Supervised::start(program, path));
        let server = Self { process, folder };
        server.process.set_admin(server.address("admin"));
        server
    }

    /// Starts a controller like [`Server::start`]. If it loses its lease because the machine is busy, another one is started
    /// with the same flags, as a kubelet would.
    pub fn start_supervised(folder: TempDir, command: impl FnOnce(&mut Command)) -> Self {
        let server = Self::start(folder, command);
        let process = Arc::clone(&server.process);
        thread::spawn(move || process.supervise());
        server
    }

    /// Returns an address from the first line of the log.
    pub fn address(&self, field: &str) -> SocketAddr {
        eventually(TIMEOUT, "the log has the addresses", || {
            let first = self.log().into_iter().next().unwrap_or_default();
            first[field].as_str().and_then(|text| text.parse().ok()).ok_or_else(|| self.log_text())
        })
    }

    /// Waits until `/readyz` succeeds.
    pub fn wait_until_ready(&self) {
        eventually(TIMEOUT, "the server is ready", || match self.get("/readyz") {
            (200, _) => Ok(()),
            (_, body) => Err(body),
        });
    }

    /// Returns the log events so far.
    pub fn log(&self) -> Vec<Value> {
        self.log_text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the log events whose message contains `text`.
    pub fn logged(&self, text: &str) -> Vec<Value> {
        let matches = |event: &Value| event["message"].as_str().is_some_and(|message| message.contains(text));
        self.log().into_iter().filter(matches).collect()
    }

    /// Returns the value of the series `name{labels}`. Returns `None` if it does not exist or the server does not
    /// respond.
    pub fn metric(&self, series: &str) -> Option<u64> {
        let (_, text) = self.get("/metrics");
        let mut values = text.lines().filter_map(|line| line.rsplit_once(' '));
        values.find(|(found, _)| *found == series).map(|(_, value)| value.parse().expect("a count"))
    }

    /// Waits until the series has the value `expected`.
    pub fn wait_for_metric(&self, series: &str, expected: u64) {
        eventually(TIMEOUT, &format!("{series} is {expected}"), || match self.metric(series) {
            Some(found) if found == expected => Ok(()),
            found => Err(format!("{found:?}")),
        });
    }

    /// Sends a signal: `KILL`, `STOP`, `CONT` or `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = self.process.signal(name);
        assert!(sent.success(), "signal {name} was not sent");
    }

    /// Returns true if the process has exited.
    pub fn has_exited(&mut self) -> bool {
        self.process.exit_status().is_some()
    }

    /// Waits until the process has exited.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        eventually(TIMEOUT, "the process exits", || self.process.exit_status().ok_or("it runs"))
    }

    /// Gets a path of the admin port. Returns status and body; the status is 0 if the server does not respond.
    pub fn get(&self, path: &str) -> (u16, String) {
        let fetch = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.process.admin())?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let response = fetch().unwrap_or_else(|error| format!("HTTP/1.1 0\r\n\r\n{error}"));
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, body.to_owned())
    }

    /// Returns the folder that the server was started with.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn log_text(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG)).expect("read the log")
    }
}

impl Drop for Server {
    #[allow(clippy::print_stdout, reason = "the test harness shows standard output when a test fails")]
    fn drop(&mut self) {
        if thread::panicking() {
            println!("log of {:?}:\n{}", self.process, self.log_text());
        }
        self.process.kill();
    }
}
