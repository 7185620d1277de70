//! The forms in which a preview is shown: one file each. Bytes go to a writer, colours are escape sequences in them.

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
pub use patch::OnePatch;
pub use yaml::Yaml;

use crate::finding::Finding;
use crate::lint;
use crate::manifest::DocumentError;
use crate::preview::PodReport;
use crate::printable::Printable;
use crate::workload::SOLE_ROLE;

/// Takes reports one by one, so that an input of any size streams.
pub trait Sink {
    /// Writes one report. An error of kind `InvalidInput` is one of the form, in its own words.
    fn report(&mut self, report: &PodReport) -> io::Result<()>;

    /// Ends the output. People have been told the errors elsewhere; only a form for machines repeats them.
    fn finish(&mut self, errors: &[DocumentError]) -> io::Result<()>;
}

/// The line above each role: `PyTorchJob default/llama · Worker ×3`.
fn heading(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let PodReport { kind, namespace, name, role, replicas, .. } = report;
    let strong = style::HEADING;
    write!(out, "{strong}{kind} {}/{}", Printable(namespace), Printable(name))?;
    if role != SOLE_ROLE {
        write!(out, " · {}", Printable(role))?;
    }
    if *replicas != 1 {
        write!(out, " ×{replicas}")?;
    }
    writeln!(out, "{strong:#}")
}

/// The warnings of a report, one line each, and what the lint found, in full.
fn warnings(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let caution = style::CAUTION;
    let lint = lint::warnings(&report.lint);
    let mut others = report.warnings.iter().filter(|warning| !lint.contains(warning));
    others.try_for_each(|warning| writeln!(out, "  {caution}warning{caution:#} {}", Printable(warning)))?;
    report.lint.iter().try_for_each(|finding| self::finding(out, finding))
}

/// A finding of the lint in full: what is wrong and where, why, and the cure.
pub fn finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let Finding { code, severity, message, evidence: _, fix, subject } = finding;
    let (shade, faint) = (style::severity(*severity), style::FAINT);
    writeln!(
        out,
        "  {shade}{code} {}{shade:#} {} {faint}{}{faint:#}",
        lint::letter(*severity),
        Printable(message),
        Printable(subject)
    )?;
    if let Some(check) = lint::find(code) {
        writeln!(out, "    why: {}", check.why)?;
    }
    if let Some(fix) = fix {
        writeln!(out, "    cure: {}", Printable(fix))?;
    }
    Ok(())
}
