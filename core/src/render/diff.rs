//! `-o diff`: a unified diff of the YAML, followed by the outcomes of the rules.

use std::io::{self, Write};

use json_patch::PatchOperation;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffOp, group_diff_ops};

use super::account::write_account;
use super::text::{
    ExplainedChecks, write_heading, write_objects, write_refusal_place, write_separator, write_summary, write_warnings,
};
use super::{Closing, Sink, TextOptions, style};
use crate::mutate::{RuleOutcome, Verdict};
use crate::preview::PodReport;
use crate::printable::Printable;
use crate::yaml;

/// Number of context lines around a change, as in `diff -u`.
const CONTEXT: usize = 3;

/// Columns of the continuation lines of a rule.
const INDENT: usize = 4;

/// Writes a diff of each role and the outcomes of the rules. Roles with the same outcome are shown as one.
pub struct Diff<W> {
    out: W,
    options: TextOptions,
    first: bool,
    explained: ExplainedChecks,
}

impl<W: Write> Diff<W> {
    /// Creates a sink that writes to `out`.
    pub fn new(out: W, options: TextOptions) -> Self {
        Self { out, options, first: true, explained: ExplainedChecks::default() }
    }

    fn write_rules(&mut self, reports: &[PodReport]) -> io::Result<()> {
        let Some(report) = reports.first() else { return Ok(()) };
        let rules = &report.rules;
        let width = rules.iter().map(|rule| rule.rule.name().len()).max().unwrap_or_default();
        let is_shown = |rule: &&RuleOutcome| {
            self.options.verbose || rule.outcome != Verdict::Skipped || explains_change(report, rule)
        };
        for rule in rules.iter().filter(is_shown) {
            let style = style::verdict(rule.outcome);
            let (name, verdict) = (rule.rule.name(), rule.outcome.name());
            let text = format!("{}: {}", rule.reason.code(), Printable(rule.summary()));
            let text = self.options.layout.wrap(&text, width + 11, INDENT);
            writeln!(self.out, "  {name:<width$} {style}{verdict:<7}{style:#} {text}")?;
            for part in &rule.notes {
                let part = self.options.layout.wrap(&Printable(&part.text).to_string(), INDENT, INDENT + 2);
                writeln!(self.out, "    {part}")?;
            }
            write_refusal_place(&mut self.out, reports, rule, self.options.layout, INDENT)?;
        }
        let skipped: Vec<&RuleOutcome> = rules.iter().filter(|rule| !is_shown(rule)).collect();
        self.write_skipped(&skipped, rules.len())
    }

    /// Writes the rules that were skipped in one line.
    fn write_skipped(&mut self, skipped: &[&RuleOutcome], rules: usize) -> io::Result<()> {
        let Some(first) = skipped.first() else { return Ok(()) };
        let text = if skipped.len() == rules && skipped.iter().all(|rule| rule.message == first.message) {
            format!("all rules: {}: {}", first.reason.code(), Printable(&first.message))
        } else {
            let names = skipped.iter().map(|rule| format!("{} ({})", rule.rule.name(), rule.reason.code()));
            names.collect::<Vec<_>>().join(", ")
        };
        let dim = style::DIM;
        writeln!(self.out, "  {dim}skipped{dim:#} {}", self.options.layout.wrap(&text, 10, INDENT))
    }
}

impl<W: Write> Sink for Diff<W> {
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()> {
        for roles in reports.chunk_by(PodReport::has_same_outcome) {
            let Some(report) = roles.first() else { continue };
            let first = std::mem::take(&mut self.first);
            write_separator(&mut self.out, &mut self.options, first, report)?;
            write_heading(&mut self.out, roles, self.options.layout)?;
            if report.changed {
                write_hunks(&mut self.out, report)?;
            }
            self.write_rules(roles)?;
            write_objects(&mut self.out, roles, self.options.layout)?;
            write_warnings(&mut self.out, roles, self.options.layout, &mut self.explained)?;
        }
        reports
            .iter()
            .filter_map(|report| report.quota.as_ref())
            .try_for_each(|account| write_account(&mut self.out, account, self.options.layout))
    }

    fn finish(&mut self, closing: &Closing<'_>) -> io::Result<()> {
        write_summary(&mut self.out, closing, self.options.layout)?;
        self.out.flush()
    }
}

/// Returns true if the patch changes the field of `rule`: the message of a skipped rule then explains the change.
fn explains_change(report: &PodReport, rule: &RuleOutcome) -> bool {
    let is_field = |operation: &PatchOperation| Some(operation.path().as_str()) == rule.field.as_deref();
    report.patch.operations().iter().any(is_field)
}

fn write_hunks(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let (before, after) = (yaml::to_string(&report.original), yaml::to_string(&report.pod));
    let (added, removed, position) = (style::SUCCESS, style::ERROR, style::NOTE);
    writeln!(out, "{removed}--- as created{removed:#}\n{added}+++ with trainmesh{added:#}")?;
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    for hunk in group_diff_ops(operations(&before, &after), CONTEXT) {
        writeln!(out, "{position}{}{position:#}", UnifiedHunkHeader::new(&hunk))?;
        for change in hunk.iter().flat_map(|operation| operation.iter_changes(before.as_slice(), after.as_slice())) {
            let line = change.value();
            match change.tag() {
                ChangeTag::Equal => writeln!(out, " {line}")?,
                ChangeTag::Delete => writeln!(out, "{removed}-{line}{removed:#}")?,
                ChangeTag::Insert => writeln!(out, "{added}+{line}{added:#}")?,
            }
        }
    }
    Ok(())
}

/// Compares lines. `TextDiff` contains every algorithm several times, which adds a percent to the size of the binary.
fn operations(before: &[&str], after: &[&str]) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), before, after);
    let Ok(()) = myers::diff(&mut hook, before, 0..before.len(), after, 0..after.len());
    hook.into_inner().into_inner().into_ops()
}
