//! `-o json`: the stable machine form, written as it comes, a result a line.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::Sink;
use crate::manifest::DocumentError;
use crate::preview::PodReport;

/// Changes only when a field changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

/// One JSON document, a result a line.
pub struct Json<'a, W> {
    out: W,
    config_hash: &'a str,
    results: usize,
}

impl<'a, W: Write> Json<'a, W> {
    /// Writes to `out`; `config_hash` identifies the configuration.
    pub fn new(out: W, config_hash: &'a str) -> Self {
        Self { out, config_hash, results: 0 }
    }

    /// Nothing is written before the first result, so that a run that fails at once prints nothing.
    fn head(&mut self) -> io::Result<()> {
        let (version, hash) = (json!(env!("CARGO_PKG_VERSION")), json!(self.config_hash));
        writeln!(self.out, r#"{{"schemaVersion":{SCHEMA_VERSION},"version":{version},"configHash":{hash},"results":["#)
    }
}

impl<W: Write> Sink for Json<'_, W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if self.results == 0 {
            self.head()?;
        } else {
            writeln!(self.out, ",")?;
        }
        self.results += 1;
        // As an error of I/O a closed pipe is known for what it is.
        serde_json::to_writer(&mut self.out, report).map_err(io::Error::from)
    }

    fn finish(&mut self, errors: &[DocumentError]) -> io::Result<()> {
        if self.results == 0 {
            self.head()?;
        } else {
            writeln!(self.out)?;
        }
        let errors: Vec<Value> = errors.iter().map(error).collect();
        writeln!(self.out, r#"],"errors":{}}}"#, json!(errors))?;
        self.out.flush()
    }
}

fn error(error: &DocumentError) -> Value {
    let DocumentError { source, document, line, message } = error;
    json!({"source": **source, "document": document, "line": line, "message": message})
}
