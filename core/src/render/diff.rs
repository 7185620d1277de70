//! `-o diff`: a unified diff of the YAML, followed by the outcomes of the rules.

use std::io::{self, Write};

use similar::{ChangeTag, TextDiff};

use super::{Sink, style, write_heading, write_warnings};
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::printable::Printable;
use crate::yaml;

/// Number of context lines around a change, as in `diff -u`.
const CONTEXT: usize = 3;

/// Writes a diff of each role and the outcomes of the rules.
pub struct Diff<W> {
    out: W,
    first: bool,
}

impl<W: Write> Diff<W> {
    /// Creates a sink that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, first: true }
    }
}

impl<W: Write> Sink for Diff<W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out)?;
        }
        write_heading(&mut self.out, report)?;
        if report.changed {
            write_hunks(&mut self.out, report)?;
        }
        let width = report.rules.iter().map(|rule| rule.rule.name().len()).max().unwrap_or_default();
        for rule in &report.rules {
            let style = style::verdict(rule.outcome);
            let (name, verdict, reason) = (rule.rule.name(), rule.outcome.name(), rule.reason.code());
            writeln!(
                self.out,
                "  {name:<width$} {style}{verdict:<7}{style:#} {reason}: {}",
                Printable(rule.summary())
            )?;
            for part in &rule.parts {
                writeln!(self.out, "    {}", Printable(part))?;
            }
        }
        write_warnings(&mut self.out, report)
    }

    fn finish(&mut self, _errors: &[DocumentError]) -> io::Result<()> {
        self.out.flush()
    }
}

fn write_hunks(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let (before, after) = (yaml::to_string(&report.original), yaml::to_string(&report.pod));
    let (added, removed, position) = (style::SUCCESS, style::ERROR, style::NOTE);
    writeln!(out, "{removed}--- as created{removed:#}\n{added}+++ with trainmesh{added:#}")?;
    let diff = TextDiff::from_lines(&before, &after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        writeln!(out, "{position}{}{position:#}", hunk.header())?;
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Equal => writeln!(out, " {line}")?,
                ChangeTag::Delete => writeln!(out, "{removed}-{line}{removed:#}")?,
                ChangeTag::Insert => writeln!(out, "{added}+{line}{added:#}")?,
            }
        }
    }
    Ok(())
}
