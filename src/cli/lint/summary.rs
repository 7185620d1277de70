//! `--summary`: the number of findings of each check and severity, without the findings. Warnings about manifests count as findings,
//! because they also decide about the exit code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;

use super::LintReport;
use crate::cli::table::format_fitted_table;
use trainmesh_core::finding::Severity;
use trainmesh_core::lint::{checks, severity_letter};
use trainmesh_core::render::Layout;

/// ID of warnings about the text of a manifest, which no check reports.
pub(super) const MANIFEST_RULE: &str = "manifest";
/// Title of these warnings.
const MANIFEST_TITLE: &str = "the text of a manifest, or an object of it";

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
    for warning in &lint_report.warnings {
        let check = counts.entry((warning.severity, warning.check.unwrap_or(MANIFEST_RULE))).or_default();
        check.findings += 1;
        check.files.extend(warning.line.map(|_| &*warning.source));
    }
    let checks = checks();
    let row = |(&(severity, code), count): (&(Severity, &str), &CheckCounts<'_>)| {
        let check = checks.iter().find(|check| check.id.code() == code);
        vec![
            code.to_owned(),
            severity_letter(severity).to_string(),
            count.findings.to_string(),
            count.files.len().to_string(),
            check.map_or(MANIFEST_TITLE, |check| check.title).to_owned(),
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
            let findings = report.pod_findings.iter().flat_map(|pod| &pod.findings);
            let findings = findings.filter(|finding| finding.severity == severity).count();
            findings + report.warnings.iter().filter(|warning| warning.severity == severity).count()
        };
        let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Info].map(count);
        write!(f, "roles: {}; E: {errors}, W: {warnings}, I: {notes}", report.pods)?;
        match report.errors.len() {
            0 => Ok(()),
            1 => write!(f, "; 1 error"),
            invalid => write!(f, "; {invalid} errors"),
        }
    }
}
