//! `--summary`: the number of findings of each check and severity, without the findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;

use super::LintReport;
use crate::cli::table::format_fitted_table;
use trainmesh_core::finding::Severity;
use trainmesh_core::lint::{checks, severity_letter};
use trainmesh_core::render::Layout;

/// Counts of a report, in one line: `roles: 36; E: 0, W: 0, I: 53`.
#[derive(Debug)]
pub(super) struct Counts<'a>(pub(super) &'a LintReport);

/// Findings of one check.
#[derive(Debug, Default)]
struct CheckCounts<'a> {
    findings: usize,
    files: BTreeSet<&'a str>,
}

/// Prints a row for each check and severity that has findings, with the most severe first.
pub(super) fn print(out: &mut impl Write, lint_report: &LintReport, layout: Layout) -> anyhow::Result<()> {
    let mut counts: BTreeMap<(Severity, &str), CheckCounts<'_>> = BTreeMap::new();
    for pod in &lint_report.pod_findings {
        for finding in &pod.findings {
            let check = counts.entry((finding.severity, finding.code)).or_default();
            check.findings += 1;
            check.files.insert(&pod.report.source);
        }
    }
    let checks = checks();
    let row = |(&(severity, code), count): (&(Severity, &str), &CheckCounts<'_>)| {
        let check = checks.iter().find(|check| check.id.code() == code);
        vec![
            code.to_owned(),
            severity_letter(severity).to_string(),
            count.findings.to_string(),
            count.files.len().to_string(),
            check.map_or_else(String::new, |check| check.title.to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = counts.iter().map(row).collect();
    if !rows.is_empty() {
        let header = ["CHECK", "SEVERITY", "FINDINGS", "FILES", "TITLE"];
        writeln!(out, "{}", format_fitted_table(&header, &rows, &["TITLE"], layout))?;
    }
    writeln!(out, "{}", Counts(lint_report))?;
    Ok(out.flush()?)
}

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        let count = |severity: Severity| {
            report
                .pod_findings
                .iter()
                .flat_map(|pod| &pod.findings)
                .filter(|finding| finding.severity == severity)
                .count()
        };
        let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Info].map(count);
        write!(f, "roles: {}; E: {errors}, W: {warnings}, I: {notes}", report.pods)?;
        for (count, name) in [(report.warnings.len(), "manifest warning"), (report.errors.len(), "error")] {
            if count > 0 {
                write!(f, "; {count} {name}{}", if count == 1 { "" } else { "s" })?;
            }
        }
        Ok(())
    }
}
