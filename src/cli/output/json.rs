//! `-o json`: the stable machine form, written as it comes, a result a line.

use std::io::Write;

use serde_json::{Value, json};

use super::Sink;
use trainmesh_core::manifest::DocumentError;
use trainmesh_core::preview::PodReport;

/// Changes only when a field changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

pub(super) struct Json<'a, W> {
    out: W,
    config_hash: &'a str,
    results: usize,
}

impl<'a, W: Write> Json<'a, W> {
    pub(super) fn new(out: W, config_hash: &'a str) -> Self {
        Self { out, config_hash, results: 0 }
    }

    /// Nothing is written before the first result, so that a run that fails at once prints nothing.
    fn head(&mut self) -> anyhow::Result<()> {
        let (version, hash) = (json!(env!("CARGO_PKG_VERSION")), json!(self.config_hash));
        writeln!(
            self.out,
            r#"{{"schemaVersion":{SCHEMA_VERSION},"version":{version},"configHash":{hash},"results":["#
        )?;
        Ok(())
    }
}

impl<W: Write> Sink for Json<'_, W> {
    fn report(&mut self, report: &PodReport) -> anyhow::Result<()> {
        if self.results == 0 {
            self.head()?;
        } else {
            writeln!(self.out, ",")?;
        }
        self.results += 1;
        // As an error of I/O a closed pipe is known for what it is.
        Ok(serde_json::to_writer(&mut self.out, report).map_err(std::io::Error::from)?)
    }

    fn finish(&mut self, errors: &[DocumentError]) -> anyhow::Result<()> {
        if self.results == 0 {
            self.head()?;
        } else {
            writeln!(self.out)?;
        }
        let errors: Vec<Value> = errors.iter().map(error).collect();
        writeln!(self.out, r#"],"errors":{}}}"#, json!(errors))?;
        Ok(self.out.flush()?)
    }
}

fn error(error: &DocumentError) -> Value {
    let DocumentError { source, document, line, message } = error;
    json!({"source": **source, "document": document, "line": line, "message": message})
}
