//! The Rust side of `tests/oracle`: parses YAML as Istio and kubectl do, and applies JSON patches as the apiserver
//! does.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use serde_json::{Value, json};

/// The compiled oracle.
pub struct Oracle {
    program: PathBuf,
}

/// A running oracle that evaluates one request at a time.
pub struct Session {
    process: Child,
    requests: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

impl Oracle {
    /// Builds the oracle once for each process. Requires Go.
    pub fn build() -> Self {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        Self { program: PROGRAM.get_or_init(compile).clone() }
    }

    /// Parses each text and returns its value or the parser's error. With `strict`, duplicate keys are errors, as in
    /// kubectl.
    pub fn read_all(&self, texts: &[&str], strict: bool) -> Vec<Result<Value, String>> {
        let request = |(id, text): (usize, &&str)| json!({"id": id, "yaml": text, "strict": strict});
        self.evaluate(texts.iter().enumerate().map(request).collect())
    }

    /// Applies each patch to its document with the library that the apiserver uses.
    pub fn apply_all(&self, patches: &[(&Value, &Value)]) -> Vec<Result<Value, String>> {
        let request = |(id, (document, patch)): (usize, &(&Value, &Value))| json!({"id": id, "document": document, "patch": patch});
        self.evaluate(patches.iter().enumerate().map(request).collect())
    }

    /// Starts a session.
    pub fn session(&self) -> Session {
        let mut process = self.spawn();
        let responses = BufReader::new(process.stdout.take().expect("the oracle's output is a pipe"));
        Session { requests: process.stdin.take(), process, responses }
    }

    fn evaluate(&self, requests: Vec<Value>) -> Vec<Result<Value, String>> {
        let count = requests.len();
        let mut child = self.spawn();
        let mut input = child.stdin.take().expect("the oracle's input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("the oracle's output is a pipe"));
        let results: Vec<_> = thread::scope(|scope| {
            scope.spawn(move || {
                for request in requests {
                    writeln!(input, "{request}").expect("write a request");
                }
            });
            let lines = output.lines().map(|line| line.expect("read a response"));
            lines.enumerate().map(|(id, line)| parse_response(id, &line)).collect()
        });
        assert!(child.wait().expect("wait for the oracle").success(), "the oracle failed");
        assert_eq!(results.len(), count, "number of responses");
        results
    }

    fn spawn(&self) -> Child {
        Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start the oracle")
    }
}

impl Session {
    /// Parses `text` and returns its value or the parser's error.
    pub fn read(&mut self, text: &str) -> Result<Value, String> {
        let requests = self.requests.as_mut().expect("the session is open");
        writeln!(requests, "{}", json!({"id": 0, "yaml": text, "strict": false})).expect("write a request");
        let mut line = String::new();
        self.responses.read_line(&mut line).expect("read a response");
        parse_response(0, &line)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The oracle exits at the end of its input.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}

fn compile() -> PathBuf {
    let source = crate::repository().join("tests/oracle");
    let folder = crate::scratch();
    let program = folder.join("oracle");
    // Test processes run concurrently, so each builds its own file and moves it into place.
    let built = folder.join(format!("oracle-{}", std::process::id()));
    let status = Command::new("go")
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&built)
        .arg(".")
        .current_dir(source)
        .status()
        .expect("this test needs `go` in PATH (tests/oracle/go.mod names the version)");
    assert!(status.success(), "go build of tests/oracle failed");
    std::fs::rename(built, &program).expect("move the oracle into place");
    program
}

fn parse_response(id: usize, line: &str) -> Result<Value, String> {
    let mut response: Value = serde_json::from_str(line).expect("a response is JSON");
    assert_eq!(response["id"], id, "responses are in the order of the requests");
    match response["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(response["json"].take()),
    }
}
