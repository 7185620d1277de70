//! `-o text`: the findings of every pod with their explanation and fix.

use std::io::Write;

use super::{LintReport, PodFindings, pod_name};
use trainmesh_core::finding::Severity;
use trainmesh_core::printable::Printable;
use trainmesh_core::render::{style, write_finding};

pub(super) fn print(out: &mut impl Write, lint_report: &LintReport) -> anyhow::Result<()> {
    let strong = style::HEADING;
    for PodFindings { line, report, findings } in &lint_report.pod_findings {
        let source = Printable(&report.source);
        writeln!(out, "{strong}{source}:{line}: {}{strong:#}", Printable(pod_name(report)))?;
        for found in findings {
            write_finding(out, found)?;
        }
        writeln!(out)?;
    }
    let count = |severity: Severity| {
        let findings = lint_report.pod_findings.iter().flat_map(|pod| &pod.findings);
        findings.filter(|finding| finding.severity == severity).count()
    };
    let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Info].map(count);
    writeln!(out, "pods: {}; E: {errors}, W: {warnings}, I: {notes}", lint_report.pods)?;
    Ok(out.flush()?)
}
