//! The Rust side of `tests/judge`: YAML as Istio and kubectl read it, JSON patches as the apiserver applies them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use serde_json::{Value, json};

/// A built judge.
pub struct Judge {
    program: PathBuf,
}

/// A judge that is asked one question after another.
pub struct Session {
    process: Child,
    requests: Option<ChildStdin>,
    verdicts: BufReader<ChildStdout>,
}

impl Judge {
    /// The judge, built once for each process; that needs Go.
    pub fn build() -> Self {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        Self { program: PROGRAM.get_or_init(compile).clone() }
    }

    /// The value of each text, or the parser's complaint. `strict`: duplicate keys are errors, as kubectl has them.
    pub fn read_all(&self, texts: &[&str], strict: bool) -> Vec<Result<Value, String>> {
        let request = |(id, text): (usize, &&str)| json!({"id": id, "yaml": text, "strict": strict});
        self.ask(texts.iter().enumerate().map(request).collect())
    }

    /// Each document after its patch, as the apiserver's own library applies it.
    pub fn apply_all(&self, patches: &[(&Value, &Value)]) -> Vec<Result<Value, String>> {
        let request = |(id, (document, patch)): (usize, &(&Value, &Value))| json!({"id": id, "document": document, "patch": patch});
        self.ask(patches.iter().enumerate().map(request).collect())
    }

    /// Starts a session.
    pub fn session(&self) -> Session {
        let mut process =
            Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start the judge");
        let verdicts = BufReader::new(process.stdout.take().expect("the judge's output"));
        Session { requests: process.stdin.take(), process, verdicts }
    }

    fn ask(&self, questions: Vec<Value>) -> Vec<Result<Value, String>> {
        let count = questions.len();
        let mut child =
            Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start the judge");
        let mut requests = child.stdin.take().expect("the judge's input");
        let verdicts = BufReader::new(child.stdout.take().expect("the judge's output"));
        let verdicts: Vec<_> = thread::scope(|scope| {
            scope.spawn(move || {
                for question in questions {
                    writeln!(requests, "{question}").expect("ask the judge");
                }
            });
            let lines = verdicts.lines().map(|line| line.expect("read a verdict"));
            lines.enumerate().map(|(id, line)| verdict(id, &line)).collect()
        });
        assert!(child.wait().expect("wait for the judge").success(), "the judge failed");
        assert_eq!(verdicts.len(), count, "the judge left questions unanswered");
        verdicts
    }
}

impl Session {
    /// The value of `text`, or the parser's complaint.
    pub fn read(&mut self, text: &str) -> Result<Value, String> {
        let requests = self.requests.as_mut().expect("the session is open");
        writeln!(requests, "{}", json!({"id": 0, "yaml": text, "strict": false})).expect("ask the judge");
        let mut line = String::new();
        self.verdicts.read_line(&mut line).expect("read a verdict");
        verdict(0, &line)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The judge ends with its input.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}

fn compile() -> PathBuf {
    let source = crate::repository().join("tests/judge");
    let folder = crate::scratch();
    let program = folder.join("judge");
    // Tests may run as processes side by side: none may find another's half-written program.
    let fresh = folder.join(format!("judge-{}", std::process::id()));
    let status = Command::new("go")
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&fresh)
        .arg(".")
        .current_dir(source)
        .status()
        .expect("this test needs Go: install it (tests/judge/go.mod names the version) so that `go` is found");
    assert!(status.success(), "go build of tests/judge failed");
    std::fs::rename(fresh, &program).expect("move the judge into place");
    program
}

fn verdict(id: usize, line: &str) -> Result<Value, String> {
    let mut verdict: Value = serde_json::from_str(line).expect("a verdict is JSON");
    assert_eq!(verdict["id"], id, "verdicts come in the order of the texts");
    match verdict["error"].as_str() {
        Some(complaint) => Err(complaint.to_owned()),
        None => Ok(verdict["json"].take()),
    }
}
