//! Parts of the formats for people.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::Value;

use super::{Closing, Layout, TextOptions, style};
use crate::finding::Finding;
use crate::lint;
use crate::mutate::{RuleOutcome, Verdict, is_note};
use crate::preview::{
    ClusterState, LiveGroup, LiveWorkload, PodReport, label_in_namespace, refused_label_in_namespace, workload_state,
};
use crate::printable::Printable;
use crate::workload::SOLE_ROLE;

/// Columns by which the lines below a heading are indented, and those below such a line.
const INDENT: usize = 4;

/// Checks whose reason has been written, with the fix of their last finding. The reason is the same for every finding of a check, but
/// some findings have a fix of their own.
#[derive(Debug, Default)]
pub struct ExplainedChecks(BTreeMap<&'static str, Option<&'static str>>);

/// Writes an empty line before each report but the first, and before `report` the assumptions of the preview on which it depends.
pub(super) fn write_separator(
    out: &mut impl Write,
    options: &mut TextOptions,
    first: bool,
    report: &PodReport,
) -> io::Result<()> {
    if !first {
        writeln!(out)?;
    }
    let Some(premise) = options.premise.take(report.labels_assumed) else { return Ok(()) };
    let dim = style::DIM;
    writeln!(out, "{dim}{}{dim:#}\n", options.layout.wrap(&Printable(premise).to_string(), 0, INDENT))
}

/// Writes the heading of roles with the same outcome.
pub(super) fn write_heading(out: &mut impl Write, roles: &[PodReport], layout: Layout) -> io::Result<()> {
    let Some(text) = heading(roles) else { return Ok(()) };
    let style = style::HEADING;
    writeln!(out, "{style}{}{style:#}", layout.wrap(&text, 0, INDENT))
}

/// Returns the heading of roles: `jobs/llama.yaml:7: PyTorchJob default/llama · Master, Worker ×3`.
fn heading(roles: &[PodReport]) -> Option<String> {
    let PodReport { source, line, item, kind, namespace, name, .. } = roles.first()?;
    let place = line.map(|line| format!("{}:{line}: ", Printable(source))).unwrap_or_default();
    let item = item.map(|item| format!("items[{item}]: ")).unwrap_or_default();
    let names = roles.iter().map(|PodReport { role, replicas, .. }| {
        let count = match replicas {
            Some(1) => String::new(),
            Some(replicas) => format!(" ×{replicas}"),
            None => " ×?".to_owned(),
        };
        if role == SOLE_ROLE { count } else { format!(" {}{count}", Printable(role)) }
    });
    let names = names.collect::<Vec<_>>().join(",");
    let separator = if roles.iter().all(|report| report.role == SOLE_ROLE) { "" } else { " ·" };
    Some(format!("{place}{item}{kind} {}/{}{separator}{names}", Printable(namespace), Printable(name)))
}

/// Writes the objects that the controller creates for the workload of `roles`.
pub(super) fn write_objects(out: &mut impl Write, roles: &[PodReport], layout: Layout) -> io::Result<()> {
    let heading = style::HEADING;
    let state = roles.iter().find_map(|role| role.cluster.as_ref());
    for (namespace, state) in roles.iter().filter_map(|role| Some((&role.namespace, role.cluster.as_ref()?))) {
        for line in existing(namespace, state) {
            let text = layout.wrap(&Printable(line).to_string(), 10, INDENT);
            writeln!(out, "  {heading}exists{heading:#} {text}")?;
        }
    }
    let exists = |name: &str| state.is_some_and(|state| state.pod_groups.iter().any(|group| group.name == name));
    for object in roles.iter().flat_map(|role| &role.objects) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let minimum = ["/spec/minMember", "/spec/schedulingPolicy/gang/minCount"];
        let minimum = minimum.iter().find_map(|pointer| object.pointer(pointer)?.as_u64()).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let (kind, api) = (text("/kind"), text("/apiVersion"));
        if exists(name) {
            continue;
        }
        let text = format!("{kind} {namespace}/{name} ({api}), minimum {minimum}");
        let text = layout.wrap(&Printable(text).to_string(), 11, INDENT);
        writeln!(out, "  {heading}creates{heading:#} {text}")?;
    }
    Ok(())
}

/// Returns a line about each workload in the cluster, and about each `PodGroup`.
fn existing(namespace: &str, state: &ClusterState) -> Vec<String> {
    let workloads = state.workloads.iter().map(|workload| {
        let LiveWorkload { kind, name, uid, restarts, state, pods } = workload;
        let count = pods.map(|pods| format!(", {pods} {}", if pods == 1 { "pod" } else { "pods" }));
        let restarts =
            (*restarts > 0).then(|| format!(", {restarts} {}", if *restarts == 1 { "restart" } else { "restarts" }));
        let (count, restarts) = (count.unwrap_or_default(), restarts.unwrap_or_default());
        format!("{kind} {namespace}/{name}, {}{count}{restarts}, UID {uid}", workload_state(*state))
    });
    let groups = state.pod_groups.iter().map(|group| {
        let LiveGroup { api_version, name, managed, deleting, minimum, owner } = group;
        let minimum = minimum.map_or_else(|| "no minimum".to_owned(), |minimum| format!("minimum {minimum}"));
        let owner = owner.as_ref().map(|owner| format!(", of {owner}")).unwrap_or_default();
        let deleting = if *deleting { ", being deleted" } else { "" };
        let foreign = if *managed { "" } else { ": not created by trainmesh, which never changes it" };
        format!("PodGroup {namespace}/{name} ({api_version}), {minimum}{owner}{deleting}{foreign}")
    });
    workloads.chain(groups).collect()
}

/// Writes the file, the lines and the field of a refusal by `rule`, which all `roles` have; nothing for a pod without a manifest.
pub(super) fn write_refusal_place(
    out: &mut impl Write,
    roles: &[PodReport],
    rule: &RuleOutcome,
    layout: Layout,
    indent: usize,
) -> io::Result<()> {
    let Some((report, field)) = roles.first().zip(rule.field.as_deref()) else { return Ok(()) };
    let (source, _) = report.rule_position(rule.rule);
    let lines = roles.iter().filter_map(|role| role.rule_position(rule.rule).1);
    let position = position(source.unwrap_or(&report.source), lines);
    if rule.outcome != Verdict::Refused || position.is_empty() {
        return Ok(());
    }
    let dim = style::DIM;
    let label = refused_label_in_namespace(report, rule);
    let place = layout.wrap(&format!("{position}{}", Printable(label.as_deref().unwrap_or(field))), indent, indent);
    writeln!(out, "{:indent$}{dim}{place}{dim:#}", "")
}

/// Writes the invalid fields, the warnings and the findings of roles with the same outcome.
pub(super) fn write_warnings(
    out: &mut impl Write,
    roles: &[PodReport],
    layout: Layout,
    explained: &mut ExplainedChecks,
) -> io::Result<()> {
    let Some(report) = roles.first() else { return Ok(()) };
    let (error, warning_style) = (style::ERROR, style::WARNING);
    // The findings about them are disabled.
    let unreported = report.invalid.iter().enumerate().filter(|(_, field)| !report.has_finding_about(field));
    for (index, field) in unreported {
        let lines = roles.iter().filter_map(|role| role.invalid.get(index)?.line);
        let text =
            format!("{}{}", position(field.source.as_deref().unwrap_or(&report.source), lines), Printable(field));
        writeln!(out, "  {error}invalid{error:#} {}", layout.wrap(&text, 10, INDENT))?;
    }
    for warning in report.warnings.iter().filter(|warning| !report.has_finding(warning)) {
        let text = Printable(warning).to_string();
        if is_note(warning) {
            writeln!(out, "  note {}", layout.wrap(&text, 7, INDENT))?;
        } else {
            writeln!(out, "  {warning_style}warning{warning_style:#} {}", layout.wrap(&text, 10, INDENT))?;
        }
    }
    for (index, finding) in report.lint.iter().enumerate() {
        let lines = roles.iter().filter_map(|role| role.lint.get(index)?.line);
        let source = finding.source.as_deref().unwrap_or(&report.source);
        write_finding(out, finding, &position(source, lines), layout, explained)?;
    }
    Ok(())
}

/// Returns the lines of `source` before a field: `jobs/llama.yaml:12,31 `; empty if there are none.
pub fn position(source: &str, lines: impl Iterator<Item = u64>) -> String {
    let lines: BTreeSet<u64> = lines.collect();
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
    format!("{}:{} ", Printable(source), lines.join(","))
}

/// Writes a lint finding: the problem, its `position`, on the first finding of a check the reason, and the fix unless it is that of the
/// last finding of the check.
pub fn write_finding(
    out: &mut impl Write,
    finding: &Finding,
    position: &str,
    layout: Layout,
    explained: &mut ExplainedChecks,
) -> io::Result<()> {
    let Finding { code, severity, message, evidence: _, fix, subject, link: _, line: _, source: _ } = finding;
    let (style, dim) = (style::severity(*severity), style::DIM);
    let problem = layout.wrap(&Printable(message).to_string(), code.len() + 5, INDENT);
    writeln!(out, "  {style}{code} {}{style:#} {problem}", lint::severity_letter(*severity))?;
    let label = label_in_namespace(finding);
    let place = format!("{position}{}", Printable(label.as_deref().unwrap_or(subject)));
    if !place.is_empty() {
        writeln!(out, "    {dim}{}{dim:#}", layout.wrap(place.trim_end(), INDENT, INDENT))?;
    }
    let explained = explained.0.insert(code, *fix);
    let mut part = |name: &str, text: &str| {
        writeln!(out, "    {name}: {}", layout.wrap(&Printable(text).to_string(), INDENT + name.len() + 2, INDENT + 2))
    };
    if explained.is_none()
        && let Some(check) = lint::find_check(code)
    {
        part("why", check.why)?;
    }
    fix.filter(|fix| explained.flatten() != Some(*fix)).map_or(Ok(()), |fix| part("fix", fix))
}

/// Writes the counts that close the output.
pub(super) fn write_summary(out: &mut impl Write, closing: &Closing<'_>, layout: Layout) -> io::Result<()> {
    match closing.summary.filter(|summary| summary.pods > 0) {
        Some(summary) => writeln!(out, "\n{}", layout.wrap(&summary.to_string(), 0, INDENT)),
        None => Ok(()),
    }
}
