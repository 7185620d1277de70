//! `-o yaml`: the patched pods, one document each.

use std::io::{self, Write};

use super::Sink;
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::yaml;

/// Writes the patched pods, one document each.
pub struct Yaml<W> {
    out: W,
    first: bool,
}

impl<W: Write> Yaml<W> {
    /// Creates a sink that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, first: true }
    }
}

impl<W: Write> Sink for Yaml<W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out, "---")?;
        }
        self.out.write_all(yaml::to_string(&report.pod).as_bytes())
    }

    fn finish(&mut self, _errors: &[DocumentError]) -> io::Result<()> {
        self.out.flush()
    }
}
