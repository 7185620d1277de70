//! `-o json`: the stable machine-readable format, streamed with one result per line.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Closing, Sink};
use crate::manifest::{DocumentError, DocumentWarning};
use crate::preview::PodReport;

/// Version of the schema, incremented only if a field changes its meaning or is removed.
const SCHEMA_VERSION: u32 = 1;

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

impl<W: Write> Sink for Json<'_, W> {
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()> {
        for report in reports {
            if self.results == 0 {
                self.write_head()?;
            } else {
                writeln!(self.out, ",")?;
            }
            self.results += 1;
            // Callers detect a closed pipe by the kind of the I/O error.
            serde_json::to_writer(&mut self.out, report).map_err(io::Error::from)?;
        }
        Ok(())
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

/// Returns a warning about a document as JSON. Only those of a lint check have an `id`.
#[must_use]
pub fn warning_to_json(warning: &DocumentWarning) -> Value {
    let DocumentWarning { source, document, line, check, message } = warning;
    let mut json = json!({"source": **source, "document": document, "line": line, "message": message});
    if let Some(check) = check {
        json["id"] = json!(check);
    }
    json
}
