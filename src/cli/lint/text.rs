//! `-o text`: the findings of every pod with their explanation and fix.

use std::io::Write;
use std::iter;

use super::summary::Counts;
use super::{LintReport, PodFindings, pod_name};
use trainmesh_core::preview::PodReport;
use trainmesh_core::printable::Printable;
use trainmesh_core::render::{ExplainedChecks, Layout, position, style, write_finding};
use trainmesh_core::workload::SOLE_ROLE;

/// Columns by which the lines below the first line of a heading are indented.
const INDENT: usize = 4;

pub(super) fn print(out: &mut impl Write, lint_report: &LintReport, layout: Layout) -> anyhow::Result<()> {
    let strong = style::HEADING;
    let mut explained = ExplainedChecks::default();
    for roles in lint_report.pod_findings.chunk_by(has_same_findings) {
        let Some(PodFindings { line, report, findings, .. }) = roles.first() else { continue };
        let heading = format!("{}:{line}: {}", Printable(&report.source), Printable(names(roles)));
        writeln!(out, "{strong}{}{strong:#}", layout.wrap(&heading, 0, INDENT))?;
        for (index, finding) in findings.iter().enumerate() {
            let lines = roles.iter().filter_map(|role| role.findings.get(index)?.line);
            let source = finding.source.as_deref().unwrap_or(&report.source);
            write_finding(out, finding, &position(source, lines), layout, &mut explained)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", Counts(lint_report))?;
    Ok(out.flush()?)
}

/// Returns true if two pods are roles of one workload with the same findings.
fn has_same_findings(a: &PodFindings, b: &PodFindings) -> bool {
    fn key(report: &PodReport) -> (&str, usize, Option<usize>, &str, &str) {
        (&report.source, report.document, report.item, &report.namespace, &report.name)
    }
    key(&a.report) == key(&b.report)
        && a.findings.len() == b.findings.len()
        && iter::zip(&a.findings, &b.findings).all(|(a, b)| a.is_same(b))
}

/// Returns the name of the pods: `PyTorchJob default/llama Master, Worker`.
fn names(roles: &[PodFindings]) -> String {
    let first = roles.first().map(|pod| pod_name(&pod.report)).unwrap_or_default();
    let others = roles.iter().skip(1).map(|pod| pod.report.role.as_str()).filter(|role| *role != SOLE_ROLE);
    others.fold(first, |names, role| format!("{names}, {role}"))
}
