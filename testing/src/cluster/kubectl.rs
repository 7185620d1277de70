//! One run of `kubectl`, and what came of it.

use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use serde_json::{Value, json};

/// What a run of `kubectl` came to.
#[derive(Debug)]
#[must_use = "a refusal is told nowhere else"]
pub struct Applied {
    /// What `kubectl` printed.
    pub stdout: String,
    /// Errors, and the apiserver's warnings.
    pub stderr: String,
    /// How it ended.
    pub status: ExitStatus,
}

impl Applied {
    /// Fails the test if `kubectl` failed.
    pub fn success(self) -> Self {
        assert!(self.status.success(), "kubectl failed: {}", self.stderr);
        self
    }

    /// The apiserver's warnings, those of webhooks among them.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("Warning: "))
    }

    /// What `kubectl` complains of.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter(|line| !line.starts_with("Warning: "))
    }

    /// The names of the objects, from lines such as `job.batch/llama created`.
    pub fn names(&self) -> Vec<&str> {
        let objects = self.stdout.lines().filter_map(|line| line.split_once('/'));
        objects.filter_map(|(_, rest)| rest.split_whitespace().next()).collect()
    }

    /// The object that was asked for with `-o json`.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("kubectl prints JSON")
    }
}

/// Several objects in one manifest, for one call.
pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items.into_iter().collect::<Vec<_>>()})
}

/// Runs `kubectl` with `input` on standard input.
pub(super) fn run(arguments: &[&str], input: &str) -> Applied {
    let mut child = Command::new("kubectl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start kubectl, which `tests/cluster/cluster exec` puts into PATH");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let output = thread::scope(|scope| {
        // Beside the reading: a big manifest and a big answer would each wait for the other. A kubectl that reads
        // nothing closes the pipe.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().expect("kubectl ends")
    });
    Applied {
        stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
        status: output.status,
    }
}
