//! Output formats of a preview, one file each. Colors are written as escape sequences.

mod diff;
mod explain;
mod json;
mod patch;
pub mod style;
mod yaml;

use std::io::{self, Write};

pub use diff::Diff;
pub use explain::Explain;
pub use json::Json;
pub use patch::SinglePatch;
pub use yaml::Yaml;

use crate::finding::Finding;
use crate::lint;
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::printable::Printable;
use crate::workload::SOLE_ROLE;

/// Writes reports one at a time, so that input of any size can be streamed.
pub trait Sink {
    /// Writes one report. An error of kind `InvalidInput` means that the format does not support the report.
    fn report(&mut self, report: &PodReport) -> io::Result<()>;

    /// Completes the output. Only machine-readable formats contain `errors`; for other formats, the caller prints them.
    fn finish(&mut self, errors: &[DocumentError]) -> io::Result<()>;
}

/// Writes the heading of a role: `PyTorchJob default/llama · Worker ×3`.
fn write_heading(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let PodReport { kind, namespace, name, role, replicas, .. } = report;
    let heading = style::HEADING;
    write!(out, "{heading}{kind} {}/{}", Printable(namespace), Printable(name))?;
    if role != SOLE_ROLE {
        write!(out, " · {}", Printable(role))?;
    }
    if *replicas != 1 {
        write!(out, " ×{replicas}")?;
    }
    writeln!(out, "{heading:#}")
}

/// Writes the warnings of a report, one line each, and its findings.
fn write_warnings(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let warning_style = style::WARNING;
    let lint = lint::warnings(&report.lint);
    let mut warnings = report.warnings.iter().filter(|warning| !lint.contains(warning));
    warnings
        .try_for_each(|warning| writeln!(out, "  {warning_style}warning{warning_style:#} {}", Printable(warning)))?;
    report.lint.iter().try_for_each(|finding| write_finding(out, finding))
}

/// Writes a lint finding: the problem and its location, the reason, and the fix.
pub fn write_finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let Finding { code, severity, message, evidence: _, fix, subject } = finding;
    let (style, dim) = (style::severity(*severity), style::DIM);
    writeln!(
        out,
        "  {style}{code} {}{style:#} {} {dim}{}{dim:#}",
        lint::severity_letter(*severity),
        Printable(message),
        Printable(subject)
    )?;
    if let Some(check) = lint::find_check(code) {
        writeln!(out, "    why: {}", check.why)?;
    }
    if let Some(fix) = fix {
        writeln!(out, "    fix: {}", Printable(fix))?;
    }
    Ok(())
}
