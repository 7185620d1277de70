//! Causes for which a condition of `--fail-on` occurs, so that a pipeline shows what to fix.

use super::{PodReport, Summary};
use crate::lint::{NAMESPACE_FIELD, OWN_KEYS};
use crate::mutate::{RuleOutcome, Verdict};
use crate::workload::SOLE_ROLE;

/// A condition of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The pod would change.
    Changed,
    /// A rule is refused.
    Refused,
    /// The pod is invalid, or names something that does not exist.
    Unknown,
    /// The pod gets a warning.
    Warning,
}

impl Condition {
    /// Returns the name that `--fail-on` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
        }
    }

    /// Returns true if the condition occurs in `summary`.
    #[must_use]
    pub fn occurs(self, summary: &Summary) -> bool {
        match self {
            Self::Changed => summary.changed > 0,
            Self::Refused => summary.refused > 0,
            Self::Unknown => summary.unknown + summary.unsupported + summary.unknown_labels > 0,
            Self::Warning => summary.warned + summary.manifest_warnings > 0,
        }
    }

    /// Returns the causes in `report`, one line each: file and line, role, rule, reason. None if the condition does not occur.
    /// `has_namespace` leaves out the labels of its namespace, about which the input's Namespace has a warning.
    #[must_use]
    pub fn causes(self, report: &PodReport, has_namespace: bool) -> Vec<String> {
        match self {
            Self::Changed if !report.changed => Vec::new(),
            Self::Changed => {
                let applied = report.rules.iter().filter(|rule| rule.outcome == Verdict::Applied);
                let applied: Vec<String> = applied.map(name).collect();
                vec![line(report, None, &applied.join(", "))]
            }
            Self::Refused => {
                let refused = report.rules.iter().filter(|rule| rule.outcome == Verdict::Refused);
                refused.map(|rule| line(report, None, &with_message(rule))).collect()
            }
            Self::Unknown => {
                let invalid = report.invalid.iter().map(|field| line(report, field.line, &format!("invalid {field}")));
                let rules = report.rules.iter().filter(|rule| super::summary::is_unknown(rule.reason));
                let rules = rules.map(|rule| line(report, None, &with_message(rule)));
                let own_keys = report.lint.iter().filter(|finding| {
                    finding.code == OWN_KEYS.code() && !(has_namespace && finding.subject == NAMESPACE_FIELD)
                });
                let own_keys = own_keys.map(|finding| {
                    let message = format!("{}: {}", finding.code, finding.message);
                    if finding.subject == NAMESPACE_FIELD {
                        format!("Namespace {}: {message}", report.namespace)
                    } else {
                        line(report, finding.line, &message)
                    }
                });
                invalid.chain(rules).chain(own_keys).collect()
            }
            Self::Warning => report.warnings.iter().map(|warning| line(report, None, warning)).collect(),
        }
    }
}

/// Returns a cause with its position: `jobs/llama.yaml:7: PyTorchJob default/llama Worker: fabric UnknownFabric`.
fn line(report: &PodReport, at: Option<u64>, cause: &str) -> String {
    let PodReport { source, kind, namespace, name, role, .. } = report;
    let position = at.or(report.line).map(|at| format!("{source}:{at}: ")).unwrap_or_default();
    let role = if role == SOLE_ROLE { String::new() } else { format!(" {role}") };
    format!("{position}{kind} {namespace}/{name}{role}: {cause}")
}

fn name(rule: &RuleOutcome) -> String {
    format!("{} {}", rule.rule.name(), rule.reason.code())
}

fn with_message(rule: &RuleOutcome) -> String {
    format!("{}: {}", name(rule), rule.message)
}
