//! Counts of a preview: the line that closes its text output, and what `--fail-on` considers.

use std::fmt;

use super::PodReport;
use crate::lint::{NAMESPACE_FIELD, OWN_KEYS, UNKNOWN_FIELDS};
use crate::manifest::DocumentWarning;
use crate::mutate::{Reason, Verdict};

/// Counts of a preview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pods, one for each role.
    pub pods: usize,
    /// Pods with a patch.
    pub changed: usize,
    /// Pods that a rule would change in a namespace in audit mode.
    pub audited: usize,
    /// Pods with a rule that was refused.
    pub refused: usize,
    /// Pods that are not opted in.
    pub not_opted_in: usize,
    /// Pods in opted-in namespaces that are not changed, because they need no change or a rule is refused.
    pub unchanged: usize,
    /// Pods that do not decode, that select a profile or mode that does not exist, or that have an unknown label or
    /// annotation of trainmesh, or an unknown field.
    pub unknown: usize,
    /// Pods with warnings.
    pub warned: usize,
    /// Warnings about documents.
    pub manifest_warnings: usize,
    /// Warnings about labels and annotations of trainmesh without effect and about unknown fields, outside pods, and pods
    /// whose namespace has such labels.
    pub unknown_labels: usize,
    /// Documents that may create pods, but whose kind is not supported.
    pub unsupported: usize,
    /// Invalid documents.
    pub errors: usize,
}

impl Summary {
    /// Counts a pod.
    pub fn add(&mut self, report: &PodReport) {
        let refused = report.rules.iter().any(|rule| rule.outcome == Verdict::Refused);
        let audited = !report.changed && report.rules.iter().any(|rule| rule.outcome == Verdict::Applied);
        let not_opted_in = report.rules.iter().all(|rule| {
            matches!(rule.reason, Reason::NamespaceNotOptedIn | Reason::PodOptedOut | Reason::ExcludedNamespace)
        });
        let own_keys = || report.lint.iter().filter(|finding| finding.code == OWN_KEYS.code());
        let unknown_fields = report.lint.iter().any(|finding| finding.code == UNKNOWN_FIELDS.code());
        let unknown = !report.invalid.is_empty()
            || unknown_fields
            || report.rules.iter().any(|rule| is_unknown(rule.reason))
            || own_keys().any(|finding| finding.subject != NAMESPACE_FIELD);
        self.pods += 1;
        self.changed += usize::from(report.changed);
        self.audited += usize::from(audited);
        self.refused += usize::from(refused);
        self.not_opted_in += usize::from(not_opted_in);
        self.unchanged += usize::from(!report.changed && !audited && !not_opted_in);
        self.unknown += usize::from(unknown);
        self.unknown_labels += usize::from(own_keys().any(|finding| finding.subject == NAMESPACE_FIELD));
        self.warned += usize::from(unknown_fields || !report.warnings.is_empty());
    }

    /// Counts a warning about a document.
    pub fn add_warning(&mut self, warning: &DocumentWarning) {
        self.manifest_warnings += 1;
        let unknown = [OWN_KEYS.code(), UNKNOWN_FIELDS.code()];
        self.unknown_labels += usize::from(warning.check.is_some_and(|code| unknown.contains(&code)));
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
        let problems = [(self.refused, "with a refused rule"), (self.unknown, "unknown or invalid")];
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

/// Returns true if a pod selects a profile or mode that does not exist.
pub(super) fn is_unknown(reason: Reason) -> bool {
    matches!(reason, Reason::UnknownFabric | Reason::UnknownTrafficMode)
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
            pods: 9, changed: 3, audited: 1, refused: 3, not_opted_in: 2, unchanged: 3, unknown: 1, warned: 9, manifest_warnings: 2,
            unknown_labels: 1, unsupported: 1, errors: 28
        },
        "9 roles: 3 changed, 1 would change (audit), 3 unchanged, 2 not opted in or opted out; of these, 3 with a refused \
         rule, 1 unknown or invalid; 28 errors, 2 manifest warnings, 1 unsupported object"
    )]
    fn counts_are_listed_in_one_line(#[case] summary: Summary, #[case] expected: &str) {
        assert_eq!(summary.to_string(), expected);
    }
}
