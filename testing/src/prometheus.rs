//! A Prometheus that scrapes servers under test: the program `tests/cluster/tools/prometheus`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A running Prometheus, stopped when it is dropped.
#[derive(Debug)]
pub struct Prometheus {
    process: Child,
    requests: ChildStdin,
    responses: BufReader<ChildStdout>,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts Prometheus with this configuration file, in JSON. `folder` has the files that the configuration names.
    pub fn start(configuration: &Value, folder: TempDir) -> Self {
        let path = folder.path().join("prometheus.yml");
        std::fs::write(&path, configuration.to_string()).expect("write the configuration");
        let mut process = Command::new("prometheus")
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{error}: run this under `tests/cluster/cluster with prometheus --`"));
        let requests = process.stdin.take().expect("its input is a pipe");
        let responses = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        Self { process, requests, responses, _folder: folder }
    }

    /// Evaluates an expression at every scrape so far, as a panel does. Returns the series or the error.
    pub fn query(&mut self, expression: &str) -> Result<Vec<Value>, String> {
        let mut response = self.send(&json!({"query": expression}));
        match response["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(response["series"].as_array_mut().map(std::mem::take).unwrap_or_default()),
        }
    }

    /// Returns the rules of all alerts: `name`, `health`, `error`, `state`; `alerts` has the annotations of each alert.
    pub fn rules(&mut self) -> Vec<Value> {
        self.send(&json!({"rules": true}))["rules"].as_array_mut().map(std::mem::take).unwrap_or_default()
    }

    fn send(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").expect("write a request");
        let mut line = String::new();
        self.responses.read_line(&mut line).expect("read a response");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: Prometheus has exited: {line:?}"))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // Fails if the process has exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
