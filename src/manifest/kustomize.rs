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
            Ok(output) if !output.status.success() => Err(failed(last_line(&output.stderr))),
            Ok(output) => Source::spool(&directory.to_string_lossy(), output.stdout.as_slice())
                .map_err(|error| failed(error.to_string())),
        };
    }
    Err(InputError::NoKustomize)
}

/// Returns the last line that is not blank, which contains the error.
fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no error message");
    line.strip_prefix("error: ").or_else(|| line.strip_prefix("Error: ")).unwrap_or(line).to_owned()
}
