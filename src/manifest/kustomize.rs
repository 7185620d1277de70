//! Renders kustomizations with the tool of the user: `kubectl kustomize`, or else `kustomize build`.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::input_error::MISSING;
use super::source::Source;

/// Commands that render a kustomization, in the order in which they are tried.
const COMMANDS: [[&str; 2]; 2] = [["kubectl", "kustomize"], ["kustomize", "build"]];

/// Maximum length of an error message in bytes: that of a chain of a dozen kustomizations, each with its path.
const MAX_ERROR: usize = 4096;

/// Option for the charts of a kustomization, which runs Helm and downloads them: only the user decides about that.
const ENABLE_HELM: &str = "--enable-helm";

/// End of the header with which kubectl logs an error.
const LOGGED: &str = "] \"command failed\" err=";

/// Start of a line with which kubectl reports a field that still works.
const DEPRECATION: &str = "# Warning: ";

/// Error for a file in place of a directory.
const FILE: &str = "is a file: name the directory of the kustomization";

/// Error if no command exists.
const NO_COMMAND: &str =
    "neither kubectl nor kustomize is on the PATH: install one of them, or pipe the manifests to `-f -`";

/// Renders the kustomization in `directory`. The source cannot be read if that fails.
pub(super) fn render(directory: &Path) -> Source {
    if directory.is_file() {
        return Source::rejected(directory, FILE);
    }
    for [program, verb] in COMMANDS {
        let failed = |cause: String| {
            Source::rejected(directory, format!("`{program} {verb} {}` failed: {cause}", directory.display()))
        };
        let run = Command::new(program).arg(verb).arg(directory).stdin(Stdio::null()).output();
        return match run {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => failed(error.to_string()),
            Ok(output) if !output.status.success() => {
                let cause = error_text(&output.stderr);
                if cause.contains(ENABLE_HELM) {
                    let render = format!("{program} {verb} {ENABLE_HELM} {}", directory.display());
                    let message = format!("contains Helm charts: run `{render}`, and pipe the result to `-f -`");
                    Source::rejected(directory, message)
                } else if !directory.exists() && !may_be_remote(directory) {
                    Source::rejected(directory, MISSING)
                } else {
                    failed(cause)
                }
            }
            Ok(output) => Source::spool(&directory.to_string_lossy(), output.stdout.as_slice())
                .unwrap_or_else(|error| failed(error.to_string())),
        };
    }
    Source::rejected(directory, NO_COMMAND)
}

/// Returns true if kustomize may read `directory` from a repository instead of the file system.
fn may_be_remote(directory: &Path) -> bool {
    let text = directory.to_string_lossy();
    let host = text.split('/').next().unwrap_or_default();
    text.contains(['?', '@']) || host.contains(':') || host.trim_matches('.').contains('.')
}

/// Returns the messages on standard error in one line, at most [`MAX_ERROR`] bytes. kubectl logs the lines of an error between
/// `err=<` and `>`.
fn error_text(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let is_frame = |line: &str| line.is_empty() || line == ">" || line.ends_with("err=<");
    let lines = text.lines().map(str::trim).filter(|line| !is_frame(line) && !line.starts_with(DEPRECATION));
    let lines: Vec<String> = lines.map(without_prefix).collect();
    let mut error = lines.join(" ");
    if error.len() > MAX_ERROR {
        error.truncate(error.floor_char_boundary(MAX_ERROR));
        error.push('…');
    }
    if error.is_empty() { "no error message".to_owned() } else { error }
}

/// Returns the message of a line: without `error: `, or the header of a log line such as `E1123 … "command failed" err="…"`.
fn without_prefix(line: &str) -> String {
    if let Some((_, message)) = line.split_once(LOGGED) {
        return unquoted(message);
    }
    let line = ["error: ", "Error: "].iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line);
    line.to_owned()
}

/// Returns a text that the logger of kubectl has quoted and escaped. Line breaks become blanks.
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let (mut plain, mut characters) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 't') => plain.push(' '),
                other => plain.extend(other),
            },
            other => plain.push(other),
        }
    }
    plain
}
