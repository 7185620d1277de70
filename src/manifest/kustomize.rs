//! Renders kustomizations with the tool of the user: `kubectl kustomize`, or else `kustomize build`.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::inputs::InputError;
use super::source::Source;

/// Commands that render a kustomization, in the order in which they are tried.
const COMMANDS: [[&str; 2]; 2] = [["kubectl", "kustomize"], ["kustomize", "build"]];

/// Renders the kustomization in `directory`.
pub(super) fn render(directory: &Path) -> Result<Source, InputError> {
    for [program, verb] in COMMANDS {
        let command = format!("{program} {verb} {}", directory.display());
        let failed = |cause: String| InputError::Kustomize { command: command.clone(), cause };
        let run = Command::new(program).arg(verb).arg(directory).stdin(Stdio::null()).output();
        return match run {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => Err(failed(error.to_string())),
            Ok(output) if !output.status.success() => Err(failed(error_text(&output.stderr))),
            Ok(output) => Source::spool(&directory.to_string_lossy(), output.stdout.as_slice())
                .map_err(|error| failed(error.to_string())),
        };
    }
    Err(InputError::NoKustomize)
}

/// Returns the error: the last line that is not blank, or the lines that kubectl logs between `err=<` and `>`.
fn error_text(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != ">").collect();
    let Some(last) = lines.len().checked_sub(1) else { return "no error message".to_owned() };
    let start = lines.iter().rposition(|line| line.ends_with("err=<")).map_or(last, |index| (index + 1).min(last));
    let error = lines[start..].join(" ");
    error.strip_prefix("error: ").or_else(|| error.strip_prefix("Error: ")).unwrap_or(&error).to_owned()
}
