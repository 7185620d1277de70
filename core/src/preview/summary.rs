//! Counts of a preview: the line that closes its text output, and what `--fail-on` considers.

use std::fmt;

use super::PodReport;
use crate::lint::{NAMESPACE_FIELD, OWN_KEYS};
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
    /// Pods that need no change.
    pub unchanged: usize,
    /// Pods that do not decode, that select a profile or mode that does not exist, or that have an unknown label or
    /// annotation of trainmesh.
    pub unknown: usize,
    /// Pods with warnings.
    pub warned: usize,
    /// Warnings about documents.
    pub manifest_warnings: usize,
    /// Warnings about labels and annotations of trainmesh without effect outside pods, and pods whose namespace has such
    /// labels.
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
        let is_unknown = |reason| matches!(reason, Reason::UnknownFabric | Reason::UnknownTrafficMode);
        let own_keys = || report.lint.iter().filter(|finding| finding.code == OWN_KEYS.code());
        let unknown = !report.invalid.is_empty()
            || report.rules.iter().any(|rule| is_unknown(rule.reason))
            || own_keys().any(|finding| finding.subject != NAMESPACE_FIELD);
        self.pods += 1;
        self.changed += usize::from(report.changed);
        self.audited += usize::from(audited);
        self.refused += usize::from(refused);
        self.not_opted_in += usize::from(not_opted_in);
        self.unchanged += usize::from(!report.changed && !audited && !refused && !not_opted_in);
        self.unknown += usize::from(unknown);
        self.unknown_labels += usize::from(own_keys().any(|finding| finding.subject == NAMESPACE_FIELD));
        self.warned += usize::from(!report.warnings.is_empty());
    }

    /// Counts a warning about a document.
    pub fn add_warning(&mut self, warning: &DocumentWarning) {
        self.manifest_warnings += 1;
        self.unknown_labels += usize::from(warning.check == Some(OWN_KEYS.code()));
    }
}

/// `395 pods: 388 changed, 3 refused, 4 not opted in; 28 errors`. Counts of zero are omitted.
impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&plural(self.pods, "pod"))?;
        let parts = [
            (self.changed, "changed"),
            (self.audited, "would change (audit)"),
            (self.refused, "refused"),
            (self.unknown, "unknown or invalid"),
            (self.not_opted_in, "not opted in"),
            (self.unchanged, "unchanged"),
        ];
        let mut separator = ": ";
        for (count, name) in parts.into_iter().filter(|(count, _)| *count > 0) {
            write!(formatter, "{separator}{count} {name}")?;
            separator = ", ";
        }
        separator = "; ";
        for (count, name) in [
            (self.errors, "error"),
            (self.manifest_warnings, "manifest warning"),
            (self.unsupported, "unsupported object"),
        ] {
            if count > 0 {
                write!(formatter, "{separator}{}", plural(count, name))?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

fn plural(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(Summary::default(), "0 pods")]
    #[case::one(Summary { pods: 1, changed: 1, errors: 1, ..Summary::default() }, "1 pod: 1 changed; 1 error")]
    #[case::all(
        Summary {
            pods: 9, changed: 2, audited: 1, refused: 3, not_opted_in: 1, unchanged: 2, unknown: 1, warned: 9, manifest_warnings: 2,
            unknown_labels: 1, unsupported: 1, errors: 28
        },
        "9 pods: 2 changed, 1 would change (audit), 3 refused, 1 unknown or invalid, 1 not opted in, 2 unchanged; \
         28 errors, 2 manifest warnings, 1 unsupported object"
    )]
    fn counts_are_listed_in_one_line(#[case] summary: Summary, #[case] expected: &str) {
        assert_eq!(summary.to_string(), expected);
    }
}
