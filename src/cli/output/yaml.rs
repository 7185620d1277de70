//! `-o yaml`: the patched pods, one document each.

use std::io::Write;

use super::Sink;
use trainmesh_core::manifest::DocumentError;
use trainmesh_core::preview::PodReport;
use trainmesh_core::yaml;

pub(super) struct Yaml<W> {
    out: W,
    first: bool,
}

impl<W: Write> Yaml<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, first: true }
    }
}

impl<W: Write> Sink for Yaml<W> {
    fn report(&mut self, report: &PodReport) -> anyhow::Result<()> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out, "---")?;
        }
        Ok(self.out.write_all(yaml::to_string(&report.pod).as_bytes())?)
    }

    fn finish(&mut self, _errors: &[DocumentError]) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
