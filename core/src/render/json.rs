//! `-o json`: the stable machine-readable format, streamed with one result per line.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Closing, Sink};
use crate::manifest::{DocumentError, DocumentWarning};
use crate::preview::PodReport;

/// Version of the schema, incremented only if a field changes its meaning or is removed.
const SCHEMA_VERSION: u32 = 1;
/// Text between two results.
const SEPARATOR: &[u8] = b",\n";

/// The results of one workload, one per line. Rendering takes longer than writing, and needs no other workload, so it can run
/// on any thread.
#[derive(Debug)]
pub struct JsonResults {
    text: Vec<u8>,
    count: usize,
}

/// Writes one JSON document with one result per line.
pub struct Json<'a, W> {
    out: W,
    config_hash: &'a str,
    results: usize,
}

impl<'a, W: Write> Json<'a, W> {
    /// Creates a sink that writes to `out`; `config_hash` identifies the configuration.
    pub fn new(out: W, config_hash: &'a str) -> Self {
        Self { out, config_hash, results: 0 }
    }

    /// Writes the start of the document. It is deferred to the first result, so that a run that fails early prints
    /// nothing.
    fn write_head(&mut self) -> io::Result<()> {
        let (version, hash) = (json!(env!("CARGO_PKG_VERSION")), json!(self.config_hash));
        writeln!(self.out, r#"{{"schemaVersion":{SCHEMA_VERSION},"version":{version},"configHash":{hash},"results":["#)
    }
}

impl JsonResults {
    /// Renders `reports`.
    pub fn new(reports: &[PodReport]) -> io::Result<Self> {
        let mut text = Vec::new();
        for report in reports {
            if !text.is_empty() {
                text.extend_from_slice(SEPARATOR);
            }
            serde_json::to_writer(&mut text, report).map_err(io::Error::from)?;
        }
        Ok(Self { text, count: reports.len() })
    }
}

impl<W: Write> Json<'_, W> {
    /// Writes the results of one workload.
    pub fn write_results(&mut self, results: &JsonResults) -> io::Result<()> {
        let JsonResults { text, count } = results;
        if *count == 0 {
            return Ok(());
        }
        if self.results == 0 {
            self.write_head()?;
        } else {
            self.out.write_all(SEPARATOR)?;
        }
        self.results += count;
        self.out.write_all(text)
    }
}

impl<W: Write> Sink for Json<'_, W> {
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()> {
        self.write_results(&JsonResults::new(reports)?)
    }

    fn finish(&mut self, closing: &Closing<'_>) -> io::Result<()> {
        if self.results == 0 {
            self.write_head()?;
        } else {
            writeln!(self.out)?;
        }
        let errors: Vec<Value> = closing.errors.iter().map(error_to_json).collect();
        let warnings: Vec<Value> = closing.warnings.iter().map(warning_to_json).collect();
        write!(self.out, r#"],"errors":{},"warnings":{}"#, json!(errors), json!(warnings))?;
        if let Some(assumed) = closing.assumed {
            write!(self.out, r#","assumedNamespaceLabels":{}"#, json!(assumed))?;
        }
        writeln!(self.out, "}}")?;
        self.out.flush()
    }
}

/// Returns an invalid document as JSON.
#[must_use]
pub fn error_to_json(error: &DocumentError) -> Value {
    let DocumentError { source, document, line, message, skipped: _, placeholders: _ } = error;
    json!({"source": **source, "document": document, "line": line, "message": message})
}

/// Returns a warning about a document as JSON. Only those of a lint check have an `id` and a `severity`.
#[must_use]
pub fn warning_to_json(warning: &DocumentWarning) -> Value {
    let DocumentWarning { source, document, line, check, severity, hides_pods: _, message } = warning;
    let mut json = json!({"source": **source, "document": document, "line": line, "message": message});
    if let Some(check) = check {
        json["id"] = json!(check);
        json["severity"] = json!(severity);
    }
    json
}
