//! A server of ours as a process: both kinds tell of themselves in the same way.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use super::{PATIENCE, eventually};

/// A running `trainmesh`, killed when it is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it tells of itself.
    pub admin: SocketAddr,
    child: Child,
    folder: TempDir,
}

/// A folder for what a server reads and writes.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("make a folder")
}

/// Writes a file into `folder`.
pub fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("write a file");
    path
}

impl Server {
    /// Runs `command`, the words of a server and its flags, and waits for the first line of its log, which it writes
    /// into `folder`.
    pub fn start(folder: TempDir, command: impl FnOnce(&mut Command)) -> Self {
        let log = File::create(folder.path().join("log")).expect("make a file for the log");
        let mut program = Command::new(crate::program());
        command(&mut program);
        program
            .args(["--admin-listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug"])
            .env_remove("TRAINMESH_CONFIG")
            .stderr(Stdio::from(log));
        let child = program.spawn().expect("start trainmesh");
        let mut server = Self { admin: SocketAddr::from(([0, 0, 0, 0], 0)), child, folder };
        server.admin = server.address("admin");
        server
    }

    /// An address that its first line names.
    pub fn address(&self, field: &str) -> SocketAddr {
        eventually(PATIENCE, "the addresses in the log's first line", || {
            let first = self.log().into_iter().next().unwrap_or_default();
            first[field].as_str().and_then(|text| text.parse().ok()).ok_or_else(|| self.log_text())
        })
    }

    /// Waits until it says that it is ready.
    pub fn ready(&self) {
        eventually(PATIENCE, "the server is ready", || match self.get("/readyz") {
            (200, _) => Ok(()),
            (_, body) => Err(body),
        });
    }

    /// What it has logged.
    pub fn log(&self) -> Vec<Value> {
        self.log_text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The lines of the log whose message holds `text`.
    pub fn told(&self, text: &str) -> Vec<Value> {
        let holds = |event: &Value| event["message"].as_str().is_some_and(|message| message.contains(text));
        self.log().into_iter().filter(holds).collect()
    }

    /// The value of a metric's series, `name{labels}`; `None` where it is not there, or nobody answers.
    pub fn metric(&self, series: &str) -> Option<u64> {
        let (_, text) = self.get("/metrics");
        let mut values = text.lines().filter_map(|line| line.rsplit_once(' '));
        values.find(|(found, _)| *found == series).map(|(_, value)| value.parse().expect("a count"))
    }

    /// Waits until that series has come to `expected`.
    pub fn counts(&self, series: &str, expected: u64) {
        eventually(PATIENCE, &format!("{series} is {expected}"), || match self.metric(series) {
            Some(found) if found == expected => Ok(()),
            found => Err(format!("{found:?}")),
        });
    }

    /// Sends it a signal: `KILL`, `STOP`, `CONT`, `TERM`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().expect("start kill");
        assert!(sent.success(), "signal {name} was not sent");
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("ask for its end").is_some()
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        eventually(PATIENCE, "the process ends", || child.try_wait().expect("ask for its end").ok_or("it runs"))
    }

    /// Status and body of a page of the plain port; status 0 where nobody answers.
    pub fn get(&self, path: &str) -> (u16, String) {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.admin)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let answer = ask().unwrap_or_else(|error| format!("HTTP/1.1 0\r\n\r\n{error}"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, body.to_owned())
    }

    /// The folder that it was started with.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn log_text(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("read the log")
    }
}

impl Drop for Server {
    #[allow(clippy::print_stdout, reason = "a failed test shows what the server said, and that is where")]
    fn drop(&mut self) {
        if thread::panicking() {
            println!("the log of {}:\n{}", self.child.id(), self.log_text());
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
