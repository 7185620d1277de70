//! Prints the help and usage errors.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{command, parse};
use crate::manifest;
use trainmesh_core::printable::Printable;

/// Commands that read manifests with `-f`.
const MANIFEST_COMMANDS: [&str; 2] = ["preview", "lint"];

/// Argument of preview that takes no manifest.
const POD: &str = "[POD]";

/// Flags of other programs, and what to use instead.
const OTHER_FLAGS: [(&str, &str); 2] = [("-r", "use '-R'"), ("--format", "use '-o'")];

/// Flag of kubectl and of the servers, which the commands that read a cluster do not have.
const KUBECONFIG: (&str, &str) = ("--kubeconfig", "set the environment variable KUBECONFIG instead");

/// Commands that do not exist, and similar ones.
const OTHER_COMMANDS: [(&str, &str); 2] = [("explain", "preview -o explain"), ("validate", "config validate")];

/// Commands without, or with fewer arguments, what such an argument may be, and the flag that takes it.
const FLAGGED_ARGUMENTS: [(&[&str], &str, &str); 6] = [
    (&["inventory"], "read the dump", "-f"),
    (&["config", "show"], "read the configuration", "--config"),
    (&["fabric", "list"], "read the configuration", "--config"),
    (&["fabric", "render"], "select the machine", "--machine"),
    (&["sweep"], "select the namespace", "-n"),
    (&["doctor"], "select the namespace", "-n"),
];

/// Values of preview's flags that only lint has, and what to use instead.
const LINT_VALUES: [(&str, &[&str], &str); 2] = [
    ("--fail-on", &["error", "info", "E", "W", "I"], "for severities, use 'trainmesh lint --fail-on'"),
    ("--output", &["sarif"], "for SARIF, use 'trainmesh lint -o sarif'"),
];

/// Flags of preview and other programs that lint has not, or with other values, and where to find them.
const LINT_FLAGS: [(&str, &str); 5] = [
    ("--cluster", "for the state of a cluster, use 'trainmesh preview --cluster'"),
    ("--disable", "to disable a check, list it in fabric.lint.disable of a configuration, and use '--config'"),
    ("--exit-code", "for findings of another severity than E, use '--fail-on W'"),
    ("--fail-on", "for conditions such as refused, use 'trainmesh preview --fail-on'"),
    ("--role", "to select a role, use 'trainmesh preview --role'"),
];

/// Prints the help, or the usage error. The error repeats the arguments, so it is created from escaped ones.
pub(super) fn print(arguments: &[OsString], error: &clap::Error) {
    let escaped = |argument: &OsString| Printable(argument.to_string_lossy()).to_string().into();
    let escaped: Vec<OsString> = arguments.iter().map(escaped).collect();
    // Nothing to do if standard error is closed.
    let _ = match parse(&escaped) {
        Err(error) => with_suggestion(&escaped, error).print(),
        Ok(_) => writeln!(io::stderr(), "{}", Printable(error)),
    };
}

/// Command that reads the same files as arguments or with a flag, but not both.
const VALIDATE: [&str; 2] = ["config", "validate"];

/// Suggests the flag for an argument that is specified without it, and the equivalents of other commands and flags.
fn with_suggestion(arguments: &[OsString], mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) {
        let known = OTHER_COMMANDS.iter().find(|(other, _)| name == other).map(|(_, known)| (*known).to_owned());
        if let Some(known) = known {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![known]));
        }
        return error;
    }
    let is_validate =
        || arguments.get(1..).is_some_and(|words| words.iter().zip(VALIDATE).all(|(word, name)| word == name));
    if error.kind() == ErrorKind::ArgumentConflict && is_validate() {
        let program = command(arguments.first()).get_bin_name().unwrap_or("trainmesh").to_owned();
        let usage = format!("Usage: {program} {} <FILE>...", VALIDATE.join(" "));
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage.into()));
        return error;
    }
    let reads_manifests = arguments.get(1).is_some_and(|name| MANIFEST_COMMANDS.iter().any(|known| name == known));
    if reads_manifests
        && is_conflict_with_pod(&error)
        && let Some(path) = stray_manifest(arguments)
    {
        let suggestion = manifest_suggestion(path);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion.into()]));
        return error;
    }
    let path = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(path)) if !path.starts_with('-') => path.clone(),
        Some(ContextValue::String(flag)) => {
            let is_command = |command| arguments.get(1).is_some_and(|name| name == command);
            let of_lint = LINT_FLAGS.iter().find(|(known, _)| is_command("lint") && flag.starts_with(known));
            let other = || OTHER_FLAGS.iter().find(|(known, _)| reads_manifests && flag == known);
            let kubeconfig = || Some(&KUBECONFIG).filter(|(known, _)| flag == known);
            let flag = of_lint.or_else(other).or_else(kubeconfig).map(|(_, text)| *text);
            if let Some(suggestion) = flag.or_else(|| lint_value(&error).filter(|_| is_command("preview"))) {
                // A flag with a similar name does something else.
                error.remove(ContextKind::SuggestedArg);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion.into()]));
            }
            return error;
        }
        _ => return error,
    };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(suggestion) = argument_suggestion(arguments, &path)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion.into()]));
    }
    error
}

/// Suggests the flag that takes `argument`, which the command does not take.
fn argument_suggestion(arguments: &[OsString], argument: &str) -> Option<String> {
    let words = arguments.get(1..)?;
    if MANIFEST_COMMANDS.iter().any(|known| words.first().is_some_and(|name| name == known)) {
        return Some(manifest_suggestion(argument));
    }
    let is_command =
        |command: &[&str]| command.len() <= words.len() && words.iter().zip(command).all(|(word, name)| word == name);
    let (_, verb, flag) = FLAGGED_ARGUMENTS.iter().find(|(command, ..)| is_command(command))?;
    Some(format!("to {verb} '{argument}', use '{flag} {argument}'"))
}

/// Returns what to use instead of a value that only a flag of lint has.
fn lint_value(error: &clap::Error) -> Option<&'static str> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (flag, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let is_known = |(known, values, _): &&(&str, &[&str], _)| flag.starts_with(known) && values.contains(&value);
    LINT_VALUES.iter().find(is_known).map(|(_, _, text)| *text)
}

/// Returns true if the name of a pod conflicts with a flag.
fn is_conflict_with_pod(error: &clap::Error) -> bool {
    let is_pod = |kind| match error.get(kind) {
        Some(ContextValue::String(argument)) => argument == POD,
        Some(ContextValue::Strings(arguments)) => arguments.iter().any(|argument| argument == POD),
        _ => false,
    };
    error.kind() == ErrorKind::ArgumentConflict
        && [ContextKind::InvalidArg, ContextKind::PriorArg].into_iter().any(is_pod)
}

/// Returns the last argument that is a manifest without its flag, as a pattern of the shell passes several.
fn stray_manifest(arguments: &[OsString]) -> Option<&str> {
    let command = command(arguments.first());
    let flags = command.find_subcommand(arguments.get(1)?)?;
    let is_stray = |pair: &&[OsString]| !flags.get_arguments().any(|flag| takes(flag, &pair[0]));
    let is_manifest = |text: &&str| !text.starts_with('-') && manifest::has_extension(Path::new(text));
    let stray = arguments.windows(2).rev().filter(is_stray);
    stray.filter_map(|pair| pair[1].to_str()).find(is_manifest)
}

/// Returns true if `flag`, as given, takes the next argument as its value.
fn takes(flag: &clap::Arg, given: &OsStr) -> bool {
    let Some(given) = given.to_str() else { return false };
    let is_short =
        || flag.get_short().is_some_and(|letter| given.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])));
    let is_long = || given.strip_prefix("--").is_some_and(|name| flag.get_long() == Some(name));
    flag.get_action().takes_values() && (is_short() || is_long())
}

fn manifest_suggestion(path: &str) -> String {
    format!("to read the manifest '{path}', use '-f {path}'")
}
