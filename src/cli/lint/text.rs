//! `-o text`: the findings of every pod, each with its reason and cure.

use std::io::Write;

use super::{Linted, Run, name};
use trainmesh_core::finding::Severity;
use trainmesh_core::printable::Printable;
use trainmesh_core::render::{finding, style};

pub(super) fn print(out: &mut impl Write, run: &Run) -> anyhow::Result<()> {
    let strong = style::HEADING;
    for Linted { line, report, findings } in &run.linted {
        let source = Printable(&report.source);
        writeln!(out, "{strong}{source}:{line}: {}{strong:#}", Printable(name(report)))?;
        for found in findings {
            finding(out, found)?;
        }
        writeln!(out)?;
    }
    let count = |severity: Severity| {
        let findings = run.linted.iter().flat_map(|linted| &linted.findings);
        findings.filter(|finding| finding.severity == severity).count()
    };
    let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Info].map(count);
    writeln!(out, "pods: {}; E: {errors}, W: {warnings}, I: {notes}", run.pods)?;
    Ok(out.flush()?)
}
