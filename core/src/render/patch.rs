//! `-o patch`: the JSON patch (RFC 6902) of a single pod, for `kubectl patch --type=json`.

use std::io::{self, Write};

use super::{Closing, Sink};
use crate::mutate::Patch;
use crate::preview::PodReport;

/// Writes the patch of a single pod.
pub struct SinglePatch<W> {
    out: W,
    patch: Option<Patch>,
}

impl<W: Write> SinglePatch<W> {
    /// Creates a sink that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, patch: None }
    }
}

impl<W: Write> Sink for SinglePatch<W> {
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()> {
        for report in reports {
            if self.patch.is_some() {
                let message = "-o patch supports only one pod, but the input creates more: use -o json, or one job with --role to \
                               select one of its roles";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            self.patch = Some(report.patch.clone());
        }
        Ok(())
    }

    fn finish(&mut self, closing: &Closing<'_>) -> io::Result<()> {
        // An invalid document may contain another pod.
        if let Some(patch) = self.patch.as_ref().filter(|_| closing.errors.is_empty()) {
            serde_json::to_writer_pretty(&mut self.out, patch).map_err(io::Error::from)?;
            writeln!(self.out)?;
        }
        self.out.flush()
    }
}
