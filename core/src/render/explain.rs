//! `-o explain`: a table of the rules: outcome, reason and field.

use std::io::{self, Write};

use super::{Sink, heading, style, warnings};
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::printable::Printable;

/// A table of the rules for each role.
pub struct Explain<W> {
    out: W,
    first: bool,
}

impl<W: Write> Explain<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, first: true }
    }
}

impl<W: Write> Sink for Explain<W> {
    fn report(&mut self, report: &PodReport) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out)?;
        }
        heading(&mut self.out, report)?;
        let field = |field: &Option<String>| {
            field.as_ref().map_or_else(|| "-".to_owned(), |field| Printable(field).to_string())
        };
        let widest = |header: &str, cells: &mut dyn Iterator<Item = usize>| {
            cells.chain([header.len()]).max().unwrap_or_default()
        };
        let names = widest("RULE", &mut report.rules.iter().map(|rule| rule.rule.name().len()));
        let reasons = widest("REASON", &mut report.rules.iter().map(|rule| rule.reason.code().len()));
        let fields = widest("FIELD", &mut report.rules.iter().map(|rule| field(&rule.field).len()));
        let strong = style::HEADING;
        writeln!(
            self.out,
            "  {strong}{:<names$}  {:<7}  {:<reasons$}  {:<fields$}  WHY{strong:#}",
            "RULE", "OUTCOME", "REASON", "FIELD"
        )?;
        for rule in &report.rules {
            let shade = style::verdict(rule.outcome);
            writeln!(
                self.out,
                "  {:<names$}  {shade}{:<7}{shade:#}  {:<reasons$}  {:<fields$}  {}",
                rule.rule.name(),
                rule.outcome.name(),
                rule.reason.code(),
                field(&rule.field),
                Printable(rule.head())
            )?;
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
