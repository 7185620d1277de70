//! `-o patch`: the one RFC 6902 array, ready for `kubectl patch --type=json`.

use std::io::{self, Write};

use super::Sink;
use crate::manifest::DocumentError;
use crate::mutate::Patch;
use crate::preview::PodReport;

/// The patch of the one pod.
pub struct OnePatch<W> {
    out: W,
    patch: Option<Patch>,
}

impl<W: Write> OnePatch<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, patch: None }
    }
}

impl<W: Write> Sink for OnePatch<W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if self.patch.is_some() {
            let message =
                "-o patch prints the patch of one pod and the input makes more: use -o json, or give one role alone";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.patch = Some(report.patch.clone());
        Ok(())
    }

    fn finish(&mut self, errors: &[DocumentError]) -> io::Result<()> {
        // A document that could not be read may hold another pod.
        if let Some(patch) = self.patch.as_ref().filter(|_| errors.is_empty()) {
            serde_json::to_writer_pretty(&mut self.out, patch).map_err(io::Error::from)?;
            writeln!(self.out)?;
        }
        self.out.flush()
    }
}
