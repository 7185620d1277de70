//! `-o sarif`: SARIF 2.1.0 (OASIS), for code review tools.

use std::env;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::super::notes::Note;
use super::summary::MANIFEST_RULE;
use super::{LintReport, PodFindings, finish, pod_name};
use crate::manifest::{STDIN_NAME, normalize};
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::lint::{Check, checks};
use trainmesh_core::manifest::{DocumentError, DocumentWarning};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn print(out: &mut impl Write, lint_report: &LintReport) -> anyhow::Result<()> {
    let checks = checks();
    let results = lint_report.pod_findings.iter().flat_map(|pod| {
        let checks = &checks;
        pod.findings.iter().map(move |finding| result(pod, finding, checks))
    });
    let manifest_results = lint_report.warnings.iter().map(|warning| manifest_result(warning, &checks));
    let invalid = lint_report.errors.iter().map(|error| invalid_document(error, &checks));
    let notifications = lint_report.errors.iter().map(notification).chain(lint_report.notes.iter().map(note));
    let notifications: Vec<Value> = notifications.collect();
    let driver = json!({
        "name": "trainmesh lint",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": checks.iter().map(|check| rule(check)).chain([manifest_rule()]).collect::<Vec<_>>(),
    });
    let whole = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "invocations": [{
                "executionSuccessful": lint_report.errors.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results.chain(manifest_results).chain(invalid).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_writer(&mut *out, &whole).map_err(std::io::Error::from)?;
    finish(out)
}

fn rule(check: &Check) -> Value {
    let Check { id, severity, title, why, fix, .. } = check;
    let link = id.link();
    json!({
        "id": id,
        "shortDescription": {"text": title},
        "fullDescription": {"text": why},
        // The page is in the repository, which has no absolute URI, as helpUri requires.
        "help": {
            "text": format!("{why} Fix: {fix}. See {link}."),
            "markdown": format!("{why}\n\n**Fix:** {fix}.\n\nSee `{link}`."),
        },
        "defaultConfiguration": {"level": level(*severity)},
    })
}

/// Returns the rule of problems of manifests that no check reports, which is the last one.
fn manifest_rule() -> Value {
    let text = "The manifest is invalid or cannot be read, so that its pods were not checked, or kubectl reads it differently than it is \
                written: a mapping sets a key more than once, of which kubectl keeps only the last value, or a later object replaces \
                it. Or it contains more pod templates than are checked, or a namespace that is probably misspelled.";
    json!({
        "id": MANIFEST_RULE,
        "shortDescription": {"text": "a problem of a manifest"},
        "fullDescription": {"text": text},
        "help": {"text": format!("{text} Fix: follow the message.")},
        "defaultConfiguration": {"level": level(Severity::Warning)},
    })
}

fn manifest_result(warning: &DocumentWarning, checks: &[&Check]) -> Value {
    let DocumentWarning { source, document: _, line, check, severity, hides_pods: _, message } = warning;
    let index = check.and_then(|code| checks.iter().position(|check| check.id.code() == code));
    json!({
        "ruleId": check.unwrap_or(MANIFEST_RULE),
        "ruleIndex": index.unwrap_or(checks.len()),
        "level": level(*severity),
        "message": {"text": sentence(message)},
        "locations": [{"physicalLocation": location(source, *line)}],
    })
}

fn result(pod: &PodFindings, finding: &Finding, checks: &[&Check]) -> Value {
    let PodFindings { line: first_line, report, findings: _ } = pod;
    let Finding { code, severity, message, evidence: _, fix, subject, link: _, line, source } = finding;
    let fix = fix.unwrap_or_default();
    let pod = pod_name(report);
    json!({
        "ruleId": code,
        "ruleIndex": checks.iter().position(|check| check.id.code() == *code),
        "level": level(*severity),
        "message": {"text": format!("{} Fix: {fix}.", sentence(&format!("{pod}: {message}")))},
        "locations": [{
            "physicalLocation": location(source.as_deref().unwrap_or(&report.source), Some(line.unwrap_or(*first_line))),
            "logicalLocations": [{"fullyQualifiedName": format!("{pod} {subject}"), "kind": "object"}],
        }],
    })
}

/// Returns the result for an invalid document. Viewers show results, and rarely the notifications of an invocation.
fn invalid_document(error: &DocumentError, checks: &[&Check]) -> Value {
    json!({
        "ruleId": MANIFEST_RULE,
        "ruleIndex": checks.len(),
        "level": level(Severity::Error),
        "message": {"text": error.message},
        // Some viewers require a line, which a file that cannot be read does not have.
        "locations": [{"physicalLocation": location(&error.source, error.line.or(Some(1)))}],
    })
}

/// Ends a message, which may be a question.
fn sentence(message: &str) -> String {
    if message.ends_with('?') { message.to_owned() } else { format!("{message}.") }
}

fn notification(error: &DocumentError) -> Value {
    json!({
        "level": "error",
        "message": {"text": error.to_string()},
        "locations": [{"physicalLocation": location(&error.source, error.line)}],
    })
}

fn note(note: &Note) -> Value {
    let Note { text, source, line, others: _ } = note;
    json!({
        "level": level(Severity::Info),
        "message": {"text": text},
        "locations": [{"physicalLocation": location(source, Some(*line))}],
    })
}

fn location(source: &str, line: Option<u64>) -> Value {
    let mut location = json!({"artifactLocation": artifact(source)});
    if let Some(line) = line {
        location["region"] = json!({"startLine": line});
    }
    location
}

/// Returns the location of a file: relative to the root of the sources, for which tools take the working directory, or absolute
/// if the file is elsewhere.
fn artifact(source: &str) -> Value {
    // Tools cannot resolve these to a file.
    let description = match source {
        STDIN_NAME => Some("standard input"),
        flag if DocumentWarning::FLAGS.contains(&flag) => Some("the command line"),
        _ => None,
    };
    if let Some(text) = description {
        return json!({"uri": source, "description": {"text": text}});
    }
    let working_directory = env::current_dir().unwrap_or_default();
    let path = normalize(Path::new(source));
    // A reference must not leave the root.
    let path = if path.starts_with("..") { normalize(&working_directory.join(path)) } else { path };
    let path = path.strip_prefix(&working_directory).unwrap_or(&path);
    let uri = uri(&path.to_string_lossy());
    if path.is_absolute() {
        json!({"uri": format!("file://{uri}")})
    } else {
        json!({"uri": uri, "uriBaseId": "%SRCROOT%"})
    }
}

/// Encodes a path as a relative reference of RFC 3986.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Ok => "note",
    }
}
