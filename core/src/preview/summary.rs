//! Counts of a preview: the line that closes its text output.

use std::fmt;
use std::ops::AddAssign;

use super::{Condition, PodReport};
use crate::mutate::{Reason, RuleOutcome, Verdict};

/// Counts of a preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pods, one for each role.
    pub pods: usize,
    /// Pods with a patch.
    pub changed: usize,
    /// Pods that a rule would change in a namespace in audit mode.
    pub audited: usize,
    /// Pods with a rule that was refused.
    pub refused: usize,
    /// Pods that get TCP instead of their fabric profile.
    pub fell_back: usize,
    /// Pods that are not opted in.
    pub not_opted_in: usize,
    /// Pods in opted-in namespaces that are not changed, because they need no change or a rule is refused.
    pub unchanged: usize,
    /// Pods that do not decode, that select a profile or mode that does not exist, or that have an unknown label or
    /// annotation of trainmesh, or an unknown field.
    pub unknown: usize,
    /// Warnings about documents.
    pub manifest_warnings: usize,
    /// Documents that may create pods, but whose kind is not supported.
    pub unsupported: usize,
    /// Invalid documents.
    pub errors: usize,
}

impl Summary {
    /// Counts pods.
    #[must_use]
    pub fn of(reports: &[PodReport]) -> Self {
        let mut summary = Self::default();
        for report in reports {
            summary.add(report);
        }
        summary
    }

    /// Counts a pod.
    fn add(&mut self, report: &PodReport) {
        let is_unknown = Condition::Unknown.causes(report).into_iter().any(|cause| !cause.is_of_namespace());
        let has_rule = |is_counted: fn(&RuleOutcome) -> bool| report.rules.iter().any(is_counted);
        let audited = !report.changed && report.rules.iter().any(|rule| rule.outcome == Verdict::Applied);
        let not_opted_in = report.rules.iter().all(|rule| {
            matches!(rule.reason, Reason::NamespaceNotOptedIn | Reason::PodOptedOut | Reason::ExcludedNamespace)
        });
        self.pods += 1;
        self.changed += usize::from(report.changed);
        self.audited += usize::from(audited);
        self.refused += usize::from(has_rule(|rule| rule.outcome == Verdict::Refused));
        self.fell_back += usize::from(has_rule(|rule| rule.reason == Reason::FabricFellBack));
        self.not_opted_in += usize::from(not_opted_in);
        self.unchanged += usize::from(!report.changed && !audited && !not_opted_in);
        self.unknown += usize::from(is_unknown);
    }
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        let Self {
            pods,
            changed,
            audited,
            refused,
            fell_back,
            not_opted_in,
            unchanged,
            unknown,
            manifest_warnings,
            unsupported,
            errors,
        } = other;
        self.pods += pods;
        self.changed += changed;
        self.audited += audited;
        self.refused += refused;
        self.fell_back += fell_back;
        self.not_opted_in += not_opted_in;
        self.unchanged += unchanged;
        self.unknown += unknown;
        self.manifest_warnings += manifest_warnings;
        self.unsupported += unsupported;
        self.errors += errors;
    }
}

/// `395 roles: 388 changed, 3 unchanged, 4 not opted in; of these, 3 with a refused rule; 28 errors`. Each role is in one of the
/// first parts; it can also be in those after `of these`. Counts of zero are omitted.
impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&plural(self.pods, "role"))?;
        let outcomes = [
            (self.changed, "changed"),
            (self.audited, "would change (audit)"),
            (self.unchanged, "unchanged"),
            (self.not_opted_in, "not opted in or opted out"),
        ];
        let problems = [
            (self.refused, "with a refused rule"),
            (self.fell_back, "on TCP instead of a profile"),
            (self.unknown, "unknown or invalid"),
        ];
        let others = [
            (self.errors, "error"),
            (self.manifest_warnings, "manifest warning"),
            (self.unsupported, "unsupported object"),
        ];
        write_parts(formatter, ": ", &outcomes.map(|(count, name)| (count, format!("{count} {name}"))))?;
        write_parts(formatter, "; of these, ", &problems.map(|(count, name)| (count, format!("{count} {name}"))))?;
        write_parts(formatter, "; ", &others.map(|(count, name)| (count, plural(count, name))))
    }
}

/// Writes the parts whose count is not zero, after `start`.
fn write_parts<const N: usize>(
    formatter: &mut fmt::Formatter<'_>,
    start: &str,
    parts: &[(usize, String); N],
) -> fmt::Result {
    let mut separator = start;
    for (_, part) in parts.iter().filter(|(count, _)| *count > 0) {
        write!(formatter, "{separator}{part}")?;
        separator = ", ";
    }
    Ok(())
}

fn plural(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(Summary::default(), "0 roles")]
    #[case::one(Summary { pods: 1, changed: 1, errors: 1, ..Summary::default() }, "1 role: 1 changed; 1 error")]
    #[case::refused(
        Summary { pods: 2, changed: 1, unchanged: 1, refused: 2, ..Summary::default() },
        "2 roles: 1 changed, 1 unchanged; of these, 2 with a refused rule"
    )]
    #[case::all(
        Summary {
            pods: 9, changed: 3, audited: 1, refused: 3, fell_back: 2, not_opted_in: 2, unchanged: 3, unknown: 1,
            manifest_warnings: 2, unsupported: 1, errors: 28
        },
        "9 roles: 3 changed, 1 would change (audit), 3 unchanged, 2 not opted in or opted out; of these, 3 with a refused \
         rule, 2 on TCP instead of a profile, 1 unknown or invalid; 28 errors, 2 manifest warnings, 1 unsupported object"
    )]
    fn counts_are_listed_in_one_line(#[case] summary: Summary, #[case] expected: &str) {
        assert_eq!(summary.to_string(), expected);
    }
}
