//! `-o patch`: the one RFC 6902 array, ready for `kubectl patch --type=json`.

use std::io::Write;

use anyhow::bail;

use super::Sink;
use trainmesh_core::manifest::DocumentError;
use trainmesh_core::mutate::Patch;
use trainmesh_core::preview::PodReport;

pub(super) struct OnePatch<W> {
    out: W,
    patch: Option<Patch>,
}

impl<W: Write> OnePatch<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, patch: None }
    }
}

impl<W: Write> Sink for OnePatch<W> {
    fn report(&mut self, report: &PodReport) -> anyhow::Result<()> {
        if self.patch.is_some() {
            bail!("-o patch prints the patch of one pod and the input makes more: use -o json, or give one role alone");
        }
        self.patch = Some(report.patch.clone());
        Ok(())
    }

    fn finish(&mut self, errors: &[DocumentError]) -> anyhow::Result<()> {
        // A document that could not be read may hold another pod.
        if let Some(patch) = self.patch.as_ref().filter(|_| errors.is_empty()) {
            serde_json::to_writer_pretty(&mut self.out, patch).map_err(std::io::Error::from)?;
            writeln!(self.out)?;
        }
        Ok(self.out.flush()?)
    }
}
