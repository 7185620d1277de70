//! `-o sarif`: SARIF 2.1.0 (OASIS), as code reviews read it.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::{Value, json};

use super::{Linted, Run, end, name};
use trainmesh_core::finding::{Finding, Severity};
use trainmesh_core::lint::{Check, checks};
use trainmesh_core::manifest::DocumentError;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn print(out: &mut impl Write, run: &Run) -> anyhow::Result<()> {
    let checks = checks();
    let results = run.linted.iter().flat_map(|linted| {
        let checks = &checks;
        linted.findings.iter().map(move |finding| result(linted, finding, checks))
    });
    let errors: Vec<Value> = run.errors.iter().map(notification).collect();
    let driver = json!({
        "name": "trainmesh lint",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": checks.iter().map(|check| rule(check)).collect::<Vec<_>>(),
    });
    let whole = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "invocations": [{
                "executionSuccessful": run.errors.is_empty(),
                "toolExecutionNotifications": errors,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    serde_json::to_writer(&mut *out, &whole).map_err(std::io::Error::from)?;
    end(out)
}

fn rule(check: &Check) -> Value {
    let Check { id, severity, title, why, cure, .. } = check;
    json!({
        "id": id,
        "shortDescription": {"text": title},
        "fullDescription": {"text": why},
        "help": {"text": format!("{why} Cure: {cure}."), "markdown": format!("{why}\n\n**Cure:** {cure}.")},
        "defaultConfiguration": {"level": level(*severity)},
    })
}

fn result(linted: &Linted, finding: &Finding, checks: &[&Check]) -> Value {
    let Linted { line, report, .. } = linted;
    let Finding { code, severity, message, evidence: _, fix, subject } = finding;
    let cure = fix.unwrap_or_default();
    let pod = name(report);
    json!({
        "ruleId": code,
        "ruleIndex": checks.iter().position(|check| check.id.code() == *code),
        "level": level(*severity),
        "message": {"text": format!("{pod}: {message}. Cure: {cure}.")},
        "locations": [{
            "physicalLocation": place(&report.source, Some(*line)),
            "logicalLocations": [{"fullyQualifiedName": format!("{pod} {subject}"), "kind": "object"}],
        }],
    })
}

fn notification(error: &DocumentError) -> Value {
    json!({
        "level": "error",
        "message": {"text": error.to_string()},
        "locations": [{"physicalLocation": place(&error.source, error.line)}],
    })
}

fn place(source: &str, line: Option<u64>) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(source)}});
    if let Some(line) = line {
        place["region"] = json!({"startLine": line});
    }
    place
}

/// A path as a relative reference of RFC 3986: a name may hold anything.
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
