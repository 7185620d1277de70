//! Runs the binary as a user would.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// Exit code and output of a run of the binary.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `trainmesh` with `arguments` and `input` on standard input.
pub fn trainmesh(arguments: &[&str], input: &str) -> Run {
    trainmesh_with(arguments, input, &[])
}

/// Like [`trainmesh()`], with environment variables.
pub fn trainmesh_with(arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Run {
    let mut child = Command::new(crate::program())
        .args(arguments)
        .env_remove("TRAINMESH_CONFIG")
        .env_remove("COLUMNS")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let text = input.to_owned();
    // The binary may exit before it has read all input, which closes the pipe.
    let writer = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let output = child.wait_with_output().expect("the binary exits");
    writer.join().expect("the writer finishes");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the errors are UTF-8"),
    }
}

/// Asserts that `run` exited with `code` and that its output contains each of `stdout`, and `stderr`, without colors.
pub fn assert_exit(run: &Run, code: i32, stdout: &[&str], stderr: &str) {
    assert_eq!(run.code, Some(code), "{run:#?}");
    for part in stdout {
        assert!(run.stdout.contains(part), "{part:?} is missing from {run:#?}");
    }
    assert!(run.stderr.contains(stderr), "{stderr:?} is missing from {run:#?}");
    assert!(!run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'), "colors are for terminals only");
}
