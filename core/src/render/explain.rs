//! `-o explain`: a table of the rules with outcome, reason and field.

use std::io::{self, Write};

use super::{Sink, style, write_heading, write_warnings};
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::printable::Printable;

/// Writes a table of the rules for each role.
pub struct Explain<W> {
    out: W,
    first: bool,
}

impl<W: Write> Explain<W> {
    /// Creates a sink that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, first: true }
    }
}

impl<W: Write> Sink for Explain<W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out)?;
        }
        write_heading(&mut self.out, report)?;
        let field = |field: &Option<String>| {
            field.as_ref().map_or_else(|| "-".to_owned(), |field| Printable(field).to_string())
        };
        let column_width = |header: &str, cells: &mut dyn Iterator<Item = usize>| {
            cells.chain([header.len()]).max().unwrap_or_default()
        };
        let names = column_width("RULE", &mut report.rules.iter().map(|rule| rule.rule.name().len()));
        let reasons = column_width("REASON", &mut report.rules.iter().map(|rule| rule.reason.code().len()));
        let fields = column_width("FIELD", &mut report.rules.iter().map(|rule| field(&rule.field).len()));
        let heading = style::HEADING;
        writeln!(
            self.out,
            "  {heading}{:<names$}  {:<7}  {:<reasons$}  {:<fields$}  WHY{heading:#}",
            "RULE", "OUTCOME", "REASON", "FIELD"
        )?;
        for rule in &report.rules {
            let style = style::verdict(rule.outcome);
            writeln!(
                self.out,
                "  {:<names$}  {style}{:<7}{style:#}  {:<reasons$}  {:<fields$}  {}",
                rule.rule.name(),
                rule.outcome.name(),
                rule.reason.code(),
                field(&rule.field),
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
