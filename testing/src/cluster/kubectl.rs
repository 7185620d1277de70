//! Runs `kubectl`.

use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use serde_json::Value;

/// Output and exit status of a run of `kubectl`.
#[derive(Debug)]
#[must_use = "kubectl may have failed"]
pub struct KubectlOutput {
    /// Standard output.
    pub stdout: String,
    /// Standard error: errors and the apiserver's warnings.
    pub stderr: String,
    pub status: ExitStatus,
}

impl KubectlOutput {
    /// Panics if `kubectl` failed.
    pub fn success(self) -> Self {
        assert!(self.status.success(), "kubectl failed: {}", self.stderr);
        self
    }

    /// Returns the apiserver's warnings, including those of webhooks.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("Warning: "))
    }

    /// Returns the lines of standard error that are not warnings.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter(|line| !line.starts_with("Warning: "))
    }

    /// Returns the names of the objects, parsed from lines such as `job.batch/llama created`.
    pub fn names(&self) -> Vec<&str> {
        let objects = self.stdout.lines().filter_map(|line| line.split_once('/'));
        objects.filter_map(|(_, rest)| rest.split_whitespace().next()).collect()
    }

    /// Parses the output of `-o json`.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("kubectl prints JSON")
    }
}

/// Combines objects into one manifest, for a single call: one document each. For the kind `List`, kubectl would validate the
/// fields itself, with a schema of megabytes that the apiserver computes again after each change of a CRD.
pub fn list(items: impl IntoIterator<Item = Value>) -> String {
    let documents: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    documents.join("\n")
}

/// Errors of `kubectl` on a busy machine before it has sent the request: to the apiserver, and of the apiserver to a kubelet.
const UNSENT: [&str; 4] = [
    "TLS handshake timeout",
    "failed to download openapi",
    "error validating data: Get ",
    "error validating data: unexpected error when reading response body",
];
/// Error of the apiserver about a webhook, which may contain the same texts.
const WEBHOOK_FAILED: &str = "failed calling webhook";
/// Number of attempts to send a request.
const ATTEMPTS: usize = 5;

/// Runs `kubectl` with `input` on standard input. Repeats it if the request could not be sent.
pub(super) fn run(arguments: &[&str], input: &str) -> KubectlOutput {
    let is_unsent = |output: &KubectlOutput| {
        let has_error = UNSENT.iter().any(|error| output.stderr.contains(error));
        !output.status.success() && has_error && !output.stderr.contains(WEBHOOK_FAILED)
    };
    let mut output = run_once(arguments, input);
    for _ in 1..ATTEMPTS {
        if !is_unsent(&output) {
            break;
        }
        output = run_once(arguments, input);
    }
    output
}

fn run_once(arguments: &[&str], input: &str) -> KubectlOutput {
    let mut child = Command::new("kubectl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start kubectl, which `tests/cluster/cluster exec` puts into PATH");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let output = thread::scope(|scope| {
        // Written from a thread of its own, or a large manifest and a large output would block each other. kubectl may
        // close the pipe without reading.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().expect("wait for kubectl")
    });
    KubectlOutput {
        stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
        status: output.status,
    }
}
