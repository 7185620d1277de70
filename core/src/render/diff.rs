//! `-o diff`: a unified diff of YAML, and under it what every rule decided.

use std::io::{self, Write};

use similar::{ChangeTag, TextDiff};

use super::{Sink, heading, style, warnings};
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::printable::Printable;
use crate::yaml;

/// Lines of context around a change, as `diff -u` has them.
const CONTEXT: usize = 3;

/// A diff of each role, and what every rule decided.
pub struct Diff<W> {
    out: W,
    first: bool,
}

impl<W: Write> Diff<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, first: true }
    }
}

impl<W: Write> Sink for Diff<W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out)?;
        }
        heading(&mut self.out, report)?;
        if report.changed {
            hunks(&mut self.out, report)?;
        }
        let width = report.rules.iter().map(|rule| rule.rule.name().len()).max().unwrap_or_default();
        for rule in &report.rules {
            let shade = style::verdict(rule.outcome);
            let (name, verdict, reason) = (rule.rule.name(), rule.outcome.name(), rule.reason.code());
            writeln!(self.out, "  {name:<width$} {shade}{verdict:<7}{shade:#} {reason}: {}", Printable(rule.head()))?;
            for part in &rule.parts {
                writeln!(self.out, "    {}", Printable(part))?;
            }
        }
        warnings(&mut self.out, report)
    }

    fn finish(&mut self, _errors: &[DocumentError]) -> io::Result<()> {
        self.out.flush()
    }
}

fn hunks(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let (before, after) = (yaml::to_string(&report.original), yaml::to_string(&report.pod));
    let (good, bad, place) = (style::GOOD, style::BAD, style::NOTE);
    writeln!(out, "{bad}--- as created{bad:#}\n{good}+++ with trainmesh{good:#}")?;
    let diff = TextDiff::from_lines(&before, &after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        writeln!(out, "{place}{}{place:#}", hunk.header())?;
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Equal => writeln!(out, " {line}")?,
                ChangeTag::Delete => writeln!(out, "{bad}-{line}{bad:#}")?,
                ChangeTag::Insert => writeln!(out, "{good}+{line}{good:#}")?,
            }
        }
    }
    Ok(())
}
