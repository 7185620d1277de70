//! Requests of a job, compared with quotas, for people.

use std::io::{self, Write};

use super::{Layout, style};
use crate::accounting::{
    Addition, Basis, Comparison, ConstraintKind, Counted, Demand, JobAccount, RoleAccount, Shortage, Verdict,
};
use crate::printable::Printable;

/// Columns of continuation lines.
const INDENT: usize = 4;

/// Writes what admission adds to the pods, and the result of each constraint.
pub(super) fn write_account(out: &mut impl Write, account: &JobAccount, layout: Layout) -> io::Result<()> {
    let heading = style::HEADING;
    writeln!(out, "\n  {heading}quota{heading:#}")?;
    for role in &account.roles {
        writeln!(out, "  {}", layout.wrap(&role_text(role), 2, INDENT))?;
        for Addition { container, requests } in &role.additions {
            let text = format!("adds to {}: {}", Printable(container), amounts(requests));
            writeln!(out, "    {}", layout.wrap(&text, INDENT, INDENT + 2))?;
        }
    }
    for comparison in &account.constraints {
        write_comparison(out, comparison, layout)?;
    }
    let warning = style::WARNING;
    for message in &account.unknown {
        writeln!(out, "  {warning}unknown{warning:#} {}", layout.wrap(&Printable(message).to_string(), 10, INDENT))?;
    }
    Ok(())
}

fn role_text(role: &RoleAccount) -> String {
    let count = role.replicas.map_or_else(|| "?".to_owned(), |replicas| replicas.to_string());
    let basis = match role.basis {
        Basis::DryRun => "after a dry run",
        Basis::Preview => "in the preview, because the dry run failed",
    };
    format!(
        "{} ×{count}: {} in the template; {basis}: {}",
        Printable(&role.role),
        amounts(&role.template),
        amounts(&role.pod)
    )
}

fn write_comparison(out: &mut impl Write, comparison: &Comparison, layout: Layout) -> io::Result<()> {
    let Comparison { kind, name, counts, verdict, admits, shortages, unspecified } = comparison;
    let style = match verdict {
        Verdict::Fits => style::HEADING,
        Verdict::FitsWithoutAdditions | Verdict::Unknown => style::WARNING,
        Verdict::DoesNotFit => style::ERROR,
    };
    let counted = match (counts, admits) {
        (Counted::Templates, Some(true)) if *verdict == Verdict::FitsWithoutAdditions => {
            "; its controller counts the templates, and admits the job"
        }
        _ => "",
    };
    let subject = match kind {
        ConstraintKind::Node => name.clone(),
        kind => format!("{kind:?} {name}"),
    };
    let text = format!("{}: {}{counted}", Printable(subject), verdict.text());
    writeln!(out, "  {style}{}{style:#}", layout.wrap(&text, 2, INDENT))?;
    for Shortage { resource, templates, pods, available } in shortages {
        let text =
            format!("{}: {pods} requested, {templates} in the templates, {available} available", Printable(resource));
        writeln!(out, "    {}", layout.wrap(&text, INDENT, INDENT + 2))?;
    }
    for resource in unspecified {
        let subject = if *kind == ConstraintKind::LimitRange { "the pod" } else { "each container" };
        let text = format!("{}: {subject} must specify it", Printable(resource));
        writeln!(out, "    {}", layout.wrap(&text, INDENT, INDENT + 2))?;
    }
    Ok(())
}

/// Returns requests as text, without limits and the number of pods.
fn amounts(demand: &Demand) -> String {
    let requests = demand.requests().map(|(name, amount)| format!("{amount} {}", Printable(name)));
    let text = requests.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "no requests".to_owned() } else { text }
}
