//! `-o json`: the stable machine form. Pods without a finding are left out.

use std::io::Write;

use serde_json::{Value, json};

use super::{Linted, Run, end};
use trainmesh_core::manifest::DocumentError;

/// Changes only when a field changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

pub(super) fn print(out: &mut impl Write, run: &Run, config_hash: &str) -> anyhow::Result<()> {
    let results: Vec<Value> = run.linted.iter().map(result).collect();
    let errors: Vec<Value> = run.errors.iter().map(error).collect();
    let whole = json!({
        "schemaVersion": SCHEMA_VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "configHash": config_hash,
        "pods": run.pods,
        "results": results,
        "errors": errors,
    });
    serde_json::to_writer(&mut *out, &whole).map_err(std::io::Error::from)?;
    end(out)
}

fn result(linted: &Linted) -> Value {
    let Linted { line, report, findings } = linted;
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

fn error(error: &DocumentError) -> Value {
    let DocumentError { source, document, line, message } = error;
    json!({"source": **source, "document": document, "line": line, "message": message})
}
