//! The process.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;

use super::{Certificate, Options};
use crate::cluster::{PATIENCE, eventually};

/// A running `trainmesh webhook`, killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    /// Where it takes the apiserver's calls.
    pub listen: SocketAddr,
    /// Where it tells of itself.
    pub admin: SocketAddr,
    pub certificate: Arc<Certificate>,
    child: Child,
    folder: TempDir,
}

impl Process {
    /// Starts it and waits until it is ready; its configuration is that of namespace `home`.
    pub fn start(home: &str, certificate: Arc<Certificate>, options: &Options<'_>) -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        let [chain, key] = write(&folder, &certificate);
        let log = File::create(folder.path().join("log")).expect("make a file for the log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainmesh"));
        command
            .args(["webhook", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--namespace", home])
            .args(["--log-format", "json", "--log-level", "debug", "--grace", "2s"])
            .arg("--tls-cert")
            .arg(chain)
            .arg("--tls-key")
            .arg(key)
            .args(options.arguments)
            .env_remove("TRAINMESH_CONFIG")
            .stderr(Stdio::from(log));
        if let Some(path) = options.kubeconfig {
            command.arg("--kubeconfig").arg(path);
        }
        let child = command.spawn().expect("start trainmesh");
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut process = Self { listen: unknown, admin: unknown, certificate, child, folder };
        (process.listen, process.admin) = eventually(PATIENCE, "the addresses in the log's first line", || {
            let first = process.log().into_iter().next().unwrap_or_default();
            let address = |field: &str| first[field].as_str().and_then(|text| text.parse().ok());
            address("listen").zip(address("admin")).ok_or_else(|| process.log_text())
        });
        eventually(PATIENCE, "the webhook is ready", || match process.get("/readyz") {
            (200, _) => Ok(()),
            (_, body) => Err(body),
        });
        process
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

    /// The value of a metric's series, `name{labels}`; 0 where it is not there.
    pub fn metric(&self, series: &str) -> u64 {
        let (_, text) = self.get("/metrics");
        let values = text.lines().filter_map(|line| line.rsplit_once(' '));
        values.filter(|(found, _)| *found == series).find_map(|(_, value)| value.parse().ok()).unwrap_or(0)
    }

    /// Waits until that series has come to `expected`.
    pub fn counts(&self, series: &str, expected: u64) {
        eventually(PATIENCE, &format!("{series} is {expected}"), || match self.metric(series) {
            found if found == expected => Ok(()),
            found => Err(found),
        });
    }

    /// Has it serve another certificate; returns when it does. As the files are written one after the other, it may see
    /// half of the pair first.
    pub fn renew(&self, certificate: &Certificate) {
        let _ = write(&self.folder, certificate);
        self.counts("trainmesh_certificate_expiry_timestamp_seconds{cert=\"leaf\"}", certificate.expires);
    }

    /// Sends it a signal: `KILL`, `STOP`, `CONT`, `TERM`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().expect("start kill");
        assert!(sent.success(), "signal {name} was not sent");
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

    fn log_text(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("read the log")
    }
}

/// Writes the files of a certificate, one after the other: chain and key.
fn write(folder: &TempDir, certificate: &Certificate) -> [PathBuf; 2] {
    let files = [("tls.crt", certificate.pem.clone()), ("tls.key", certificate.key.serialize_pem())];
    files.map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("write a file");
        path
    })
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
