//! Parts of the formats for people.

use std::io::{self, Write};

use super::{Closing, Layout, TextOptions, style};
use crate::finding::Finding;
use crate::lint;
use crate::preview::PodReport;
use crate::printable::Printable;
use crate::workload::SOLE_ROLE;

/// Columns by which the lines below a heading are indented, and those below such a line.
const INDENT: usize = 4;

/// Writes the premise before the first report, and an empty line before all others.
pub(super) fn write_separator(out: &mut impl Write, options: &mut TextOptions, first: bool) -> io::Result<()> {
    if !first {
        return writeln!(out);
    }
    let Some(premise) = options.premise.take() else { return Ok(()) };
    let dim = style::DIM;
    writeln!(out, "{dim}{}{dim:#}\n", options.layout.wrap(&Printable(premise).to_string(), 0, INDENT))
}

/// Writes the heading of roles with the same outcome: `jobs/llama.yaml:7: PyTorchJob default/llama · Master, Worker ×3`.
pub(super) fn write_heading(out: &mut impl Write, roles: &[PodReport]) -> io::Result<()> {
    let Some(PodReport { source, line, item, kind, namespace, name, .. }) = roles.first() else { return Ok(()) };
    let heading = style::HEADING;
    write!(out, "{heading}")?;
    if let Some(line) = line {
        write!(out, "{}:{line}: ", Printable(source))?;
    }
    if let Some(item) = item {
        write!(out, "items[{item}]: ")?;
    }
    write!(out, "{kind} {}/{}", Printable(namespace), Printable(name))?;
    for (index, PodReport { role, replicas, .. }) in roles.iter().enumerate() {
        if role != SOLE_ROLE {
            write!(out, "{} {}", if index == 0 { " ·" } else { "," }, Printable(role))?;
        }
        match replicas {
            Some(1) => {}
            Some(replicas) => write!(out, " ×{replicas}")?,
            None => write!(out, " ×?")?,
        }
    }
    writeln!(out, "{heading:#}")
}

/// Writes the invalid fields, the warnings and the findings of a report.
pub(super) fn write_warnings(out: &mut impl Write, report: &PodReport, layout: Layout) -> io::Result<()> {
    let (error, warning_style) = (style::ERROR, style::WARNING);
    for field in &report.invalid {
        let text = Printable(field).to_string();
        writeln!(out, "  {error}invalid{error:#} {}", layout.wrap(&text, 10, INDENT))?;
    }
    let lint = lint::warnings(&report.lint);
    for warning in report.warnings.iter().filter(|warning| !lint.contains(warning)) {
        let text = Printable(warning).to_string();
        writeln!(out, "  {warning_style}warning{warning_style:#} {}", layout.wrap(&text, 10, INDENT))?;
    }
    report.lint.iter().try_for_each(|finding| write_finding(out, finding, layout))
}

/// Writes a lint finding: the problem, its location, the reason, and the fix.
pub fn write_finding(out: &mut impl Write, finding: &Finding, layout: Layout) -> io::Result<()> {
    let Finding { code, severity, message, evidence: _, fix, subject, link: _ } = finding;
    let (style, dim) = (style::severity(*severity), style::DIM);
    let problem = layout.wrap(&Printable(message).to_string(), code.len() + 5, INDENT);
    writeln!(out, "  {style}{code} {}{style:#} {problem}", lint::severity_letter(*severity))?;
    if !subject.is_empty() {
        writeln!(out, "    {dim}{}{dim:#}", Printable(subject))?;
    }
    let mut part = |name: &str, text: &str| {
        writeln!(out, "    {name}: {}", layout.wrap(&Printable(text).to_string(), INDENT + name.len() + 2, INDENT + 2))
    };
    if let Some(check) = lint::find_check(code) {
        part("why", check.why)?;
    }
    fix.iter().try_for_each(|fix| part("fix", fix))
}

/// Writes the counts that close the output.
pub(super) fn write_summary(out: &mut impl Write, closing: &Closing<'_>, layout: Layout) -> io::Result<()> {
    match closing.summary.filter(|summary| summary.pods > 0) {
        Some(summary) => writeln!(out, "\n{}", layout.wrap(&summary.to_string(), 0, INDENT)),
        None => Ok(()),
    }
}
