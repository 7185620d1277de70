//! Runs the binary in a pseudo-terminal, using `script` from util-linux.

use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Columns that no line exceeds.
const WIDE: usize = 9_999;

/// Runs `trainmesh COMMAND` in `folder` and returns what it writes to the terminal. The shell splits the command. Lines are not
/// broken unless `columns` is set. With 0 columns, the terminal reports no size.
pub fn in_terminal(folder: &TempDir, command: &str, columns: Option<usize>, variables: &[(&str, &str)]) -> String {
    let columns = columns.unwrap_or(WIDE);
    in_terminal_of_size(folder, command, (if columns == 0 { 0 } else { 24 }, columns), variables)
}

/// Like [`in_terminal`], in a terminal with this number of rows and columns.
pub fn in_terminal_of_size(
    folder: &TempDir,
    command: &str,
    (rows, columns): (usize, usize),
    variables: &[(&str, &str)],
) -> String {
    let size = format!("stty rows {rows} columns {columns}; ");
    let line = format!("{size}{} {command}", env!("CARGO_BIN_EXE_trainmesh"));
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"])
        .current_dir(folder)
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .env_remove("NO_COLOR")
        .env_remove("TRAINMESH_CONFIG")
        .env_remove("COLUMNS")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux");
    // Closing the input would print ^D.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("the command exits");
    drop(stdin);
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}
