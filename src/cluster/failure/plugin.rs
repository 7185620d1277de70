//! Describes failures of the credential plugin that a kubeconfig names.

use std::io;

use kube::client::AuthError;

use crate::cluster::context::ContextEntries;

/// Maximum length of the output of a credential plugin in a message, in characters.
const MAX_PRINTED: usize = 300;

/// Describes why the credential plugin of `entries` failed: its program and the start of its standard error. Its arguments,
/// environment and output may contain credentials.
pub(super) fn problem(error: &AuthError, entries: &ContextEntries) -> Option<String> {
    let name = |program: Option<&str>| match entries.plugin().or(program) {
        Some(program) => format!("{program} ({})", entries.user()),
        None => format!("of {}", entries.user()),
    };
    Some(match error {
        AuthError::MissingCommand => format!("the credential plugin {} has no command", name(None)),
        AuthError::AuthExecStart(_) if entries.plugin().is_none() => {
            format!("the credential plugin {} has no command", name(None))
        }
        AuthError::AuthExecParse(_) => {
            format!(
                "the credential plugin {} printed no ExecCredential: check its apiVersion and arguments",
                name(None)
            )
        }
        AuthError::ExecPluginFailed => format!("the credential plugin {} returned no credentials", name(None)),
        AuthError::AuthExecStart(cause) if cause.kind() == io::ErrorKind::NotFound => {
            format!("the credential plugin {} is not in the PATH", name(None))
        }
        AuthError::AuthExecStart(cause) => format!("cannot run the credential plugin {}: {}", name(None), cause.kind()),
        AuthError::AuthExecRun { cmd, out } => {
            let printed = String::from_utf8_lossy(&out.stderr);
            let printed: String =
                printed.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_PRINTED).collect();
            let separator = if printed.is_empty() { "" } else { ": " };
            format!("the credential plugin {} failed ({}){separator}{printed}", name(program(cmd)), out.status)
        }
        _ => return None,
    })
}

/// Returns the program of a command as `Command` formats it for debugging: `NAME="value" … "program" "argument" …`.
fn program(command: &str) -> Option<&str> {
    let end_of_text = |text: &str| {
        let mut is_escaped = false;
        text.find(|letter| {
            let is_end = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        })
    };
    let mut rest = command.trim_start();
    loop {
        if let Some(text) = rest.strip_prefix('"') {
            return text.get(..end_of_text(text)?);
        }
        let (_, value) = rest.split_once("=\"")?;
        rest = value.get(end_of_text(value)? + 1..)?.trim_start();
    }
}
