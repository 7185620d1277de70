//! `-o json`: the stable machine-readable format. Pods without findings are left out.

use std::io::Write;

use serde_json::{Value, json};

use super::super::notes::Note;
use super::{LintReport, PodFindings, finish};
use trainmesh_core::render::{error_to_json, warning_to_json};

/// Incremented only when a field is removed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

pub(super) fn print(out: &mut impl Write, lint_report: &LintReport, config_hash: &str) -> anyhow::Result<()> {
    let results: Vec<Value> = lint_report.pod_findings.iter().map(result).collect();
    let errors: Vec<Value> = lint_report.errors.iter().map(error_to_json).collect();
    let warnings: Vec<Value> = lint_report.warnings.iter().map(warning_to_json).collect();
    let notes: Vec<Value> = lint_report.notes.iter().map(note).collect();
    let report = json!({
        "schemaVersion": SCHEMA_VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "configHash": config_hash,
        "pods": lint_report.pods,
        "results": results,
        "notes": notes,
        "errors": errors,
        "warnings": warnings,
        "assumedNamespaceLabels": lint_report.assumed.labels,
    });
    serde_json::to_writer(&mut *out, &report).map_err(std::io::Error::from)?;
    finish(out)
}

fn note(note: &Note) -> Value {
    let Note { text, source, line, others } = note;
    json!({"source": source, "line": line, "message": text, "others": others})
}

fn result(pod: &PodFindings) -> Value {
    let PodFindings { line, report, findings, .. } = pod;
    json!({
        "source": report.source,
        "document": report.document,
        "item": report.item,
        "line": line,
        "apiVersion": report.api_version,
        "kind": report.kind,
        "namespace": report.namespace,
        "name": report.name,
        "role": report.role,
        "replicas": report.replicas,
        "lint": findings,
    })
}
