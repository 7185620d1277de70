//! `-o explain`: a table of the rules with outcome and reason, and the field of each rule in a line of its own.

use std::io::{self, Write};

use super::account::write_account;
use super::text::{
    ExplainedChecks, write_heading, write_objects, write_refusal_place, write_separator, write_summary, write_warnings,
};
use super::{Closing, Layout, Sink, TextOptions, style};
use crate::mutate::{RuleOutcome, Verdict};
use crate::preview::{PodReport, WebhookResult, WebhookTrace};
use crate::printable::Printable;

/// Columns of the lines below a rule.
const INDENT: usize = 4;

/// Minimum width of the column WHY. In a narrower terminal, and if a word is wider than the column, the reason is in the lines below
/// the rule.
const MIN_WHY: usize = 60;

/// Writes a table of the rules for each role. Roles with the same outcome are shown as one.
pub struct Explain<W> {
    out: W,
    options: TextOptions,
    first: bool,
    explained: ExplainedChecks,
}

impl<W: Write> Explain<W> {
    /// Creates a sink that writes to `out`.
    pub fn new(out: W, options: TextOptions) -> Self {
        Self { out, options, first: true, explained: ExplainedChecks::default() }
    }

    fn write_rules(&mut self, reports: &[PodReport]) -> io::Result<()> {
        let rules: &[RuleOutcome] = reports.first().map(|report| report.rules.as_slice()).unwrap_or_default();
        // A pod in a cluster has no manifest, so that its fields have no lines.
        let is_live = reports.iter().any(|report| report.live.is_some());
        let column_width = |header: &str, cells: &mut dyn Iterator<Item = usize>| {
            cells.chain([header.len()]).max().unwrap_or_default()
        };
        let names = column_width("RULE", &mut rules.iter().map(|rule| rule.rule.name().len()));
        let reasons = column_width("REASON", &mut rules.iter().map(|rule| rule.reason.code().len()));
        let layout = self.options.layout;
        let why = names + reasons + 15;
        let has_column = layout.fits(why + MIN_WHY) && rules.iter().all(|rule| fits_column(rule, why, layout));
        let (heading, dim) = (style::HEADING, style::DIM);
        let header = if has_column { "WHY" } else { "" };
        let row = format!("{:<names$}  {:<7}  {:<reasons$}  {header}", "RULE", "OUTCOME", "REASON");
        writeln!(self.out, "  {heading}{}{heading:#}", row.trim_end())?;
        for rule in rules {
            let (style, code) = (style::verdict(rule.outcome), rule.reason.code());
            let summary = Printable(rule.summary()).to_string();
            write!(self.out, "  {:<names$}  {style}{:<7}{style:#}  ", rule.rule.name(), rule.outcome.name())?;
            let indent = if has_column {
                writeln!(self.out, "{code:<reasons$}  {}", layout.wrap(&summary, why, why))?;
                why
            } else {
                writeln!(self.out, "{code}\n{:INDENT$}{}", "", layout.wrap(&summary, INDENT, INDENT))?;
                INDENT
            };
            for part in &rule.notes {
                let part = layout.wrap(&Printable(&part.text).to_string(), indent, indent + 2);
                writeln!(self.out, "{:indent$}{part}", "")?;
            }
            if rule.outcome == Verdict::Refused && !is_live {
                write_refusal_place(&mut self.out, reports, rule, layout, indent)?;
            } else if let Some(field) = &rule.field {
                writeln!(self.out, "{:indent$}{dim}{}{dim:#}", "", Printable(field))?;
            }
        }
        Ok(())
    }

    /// Writes what the webhook did for a pod that exists.
    fn write_trace(&mut self, trace: &WebhookTrace) -> io::Result<()> {
        let style = if trace.webhook == WebhookResult::Missed { style::WARNING } else { style::HEADING };
        let message = self.options.layout.wrap(&Printable(&trace.message).to_string(), 11, INDENT);
        writeln!(self.out, "  {style}webhook{style:#}: {message}")
    }
}

/// Returns true if no text of `rule` is wider than a column that starts at `column`.
fn fits_column(rule: &RuleOutcome, column: usize, layout: Layout) -> bool {
    let fits = |text: &str, indent: usize| layout.fits_words(&Printable(text).to_string(), indent);
    fits(rule.summary(), column)
        && rule.notes.iter().all(|note| fits(&note.text, column + 2))
        && rule.field.iter().all(|field| fits(field, column))
}

impl<W: Write> Sink for Explain<W> {
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()> {
        for roles in reports.chunk_by(PodReport::has_same_outcome) {
            let Some(report) = roles.first() else { continue };
            let first = std::mem::take(&mut self.first);
            write_separator(&mut self.out, &mut self.options, first, report)?;
            write_heading(&mut self.out, roles, self.options.layout)?;
            self.write_rules(roles)?;
            if let Some(trace) = &report.live {
                self.write_trace(trace)?;
            }
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
