//! The Rust side of `tests/judge`: YAML as Istio and kubectl read it.

#![allow(clippy::expect_used, reason = "a helper of tests fails them by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

/// A built judge.
pub(crate) struct Judge {
    program: PathBuf,
}

impl Judge {
    /// Builds the judge, which needs Go.
    pub(crate) fn build() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let program = folder.join(concat!("judge-", env!("CARGO_CRATE_NAME")));
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
        Self { program }
    }

    /// The value of each text, or the parser's complaint. `strict`: duplicate keys are errors, as kubectl has them.
    pub(crate) fn read_all(&self, texts: &[&str], strict: bool) -> Vec<Result<Value, String>> {
        let mut child =
            Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start the judge");
        let mut requests = child.stdin.take().expect("the judge's input");
        let verdicts = BufReader::new(child.stdout.take().expect("the judge's output"));
        let verdicts: Vec<_> = thread::scope(|scope| {
            scope.spawn(move || {
                for (id, text) in texts.iter().enumerate() {
                    let request = json!({"id": id, "yaml": text, "strict": strict});
                    writeln!(requests, "{request}").expect("ask the judge");
                }
            });
            let lines = verdicts.lines().map(|line| line.expect("read a verdict"));
            lines.enumerate().map(|(id, line)| verdict(id, &line)).collect()
        });
        assert!(child.wait().expect("wait for the judge").success(), "the judge failed");
        assert_eq!(verdicts.len(), texts.len(), "the judge left texts unanswered");
        verdicts
    }
}

fn verdict(id: usize, line: &str) -> Result<Value, String> {
    let mut verdict: Value = serde_json::from_str(line).expect("a verdict is JSON");
    assert_eq!(verdict["id"], id, "verdicts come in the order of the texts");
    match verdict["error"].as_str() {
        Some(complaint) => Err(complaint.to_owned()),
        None => Ok(verdict["json"].take()),
    }
}
