//! `-o yaml`: the patched pods, one document each.

use std::io::{self, Write};

use super::{Closing, Sink};
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
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()> {
        for report in reports {
            if !std::mem::take(&mut self.first) {
                writeln!(self.out, "---")?;
            }
            self.out.write_all(yaml::to_string(&report.pod).as_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self, _closing: &Closing<'_>) -> io::Result<()> {
        self.out.flush()
    }
}
