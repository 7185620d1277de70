//! Kubernetes' own YAML reader, asked over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running judge.
pub(crate) struct Judge {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    /// Builds and starts the judge; `None` on a machine without Go.
    pub(crate) fn start() -> Option<Self> {
        Command::new("go").arg("version").output().ok()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("judge");
        let built = Command::new("go").arg("build").arg("-o").arg(&program).current_dir(source).status().unwrap();
        assert!(built.success(), "the judge does not build");
        let mut process = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Self { requests: process.stdin.take(), answers, process })
    }

    /// The JSON that Kubernetes makes of `yaml`, or why it makes none.
    pub(crate) fn read(&mut self, yaml: &str) -> Result<Value, String> {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{}", json!({"id": 0, "yaml": yaml})).unwrap();
        requests.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["json"].take()),
        }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.requests = None;
        self.process.wait().ok();
    }
}
