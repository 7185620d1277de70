//! Causes for which a condition of `--fail-on` occurs. The exit code follows from the causes, so that a pipeline always shows
//! what to fix.

use super::PodReport;
use crate::config::CheckId;
use crate::finding::{Finding, Severity};
use crate::lint::{NAMESPACE_FIELD, OWN_KEYS, UNKNOWN_CLAIMS, UNKNOWN_FIELDS};
use crate::manifest::DocumentWarning;
use crate::mutate::{Reason, RuleId, RuleOutcome, Verdict, is_note};
use crate::preview::InvalidField;
use crate::workload::SOLE_ROLE;

/// File and line of a cause, if they are not those of the workload.
type Position<'a> = (Option<&'a str>, Option<u64>);

/// Position of the workload.
const WORKLOAD: Position<'_> = (None, None);

/// A condition of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The pod would change.
    Changed,
    /// A rule is refused, or a fabric profile falls back to TCP.
    Refused,
    /// The pod is invalid, or names something that does not exist.
    Unknown,
    /// The pod gets a warning, or a finding that is an error or a warning.
    Warning,
}

/// A cause in the pod of a role.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// The patch, with the decisions of the rules.
    Patch(&'a [RuleOutcome]),
    /// Decision of a rule.
    Rule(&'a RuleOutcome),
    /// Field that does not decode.
    Invalid(&'a InvalidField),
    /// Finding of a check.
    Finding(&'a Finding),
    /// Warning of the webhook.
    Warning(&'a str),
}

/// Checks whose findings name something that does not exist.
const UNKNOWN: [CheckId; 3] = [OWN_KEYS, UNKNOWN_CLAIMS, UNKNOWN_FIELDS];

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

    /// Returns the causes in `report`. None if the condition does not occur.
    #[must_use]
    pub fn causes(self, report: &PodReport) -> Vec<Cause<'_>> {
        match self {
            Self::Changed => report.changed.then_some(Cause::Patch(&report.rules)).into_iter().collect(),
            Self::Refused => {
                // The fields are the cause for which all rules are refused.
                let is_of_fields = |rule: &RuleOutcome| rule.reason == Reason::NotAPod && !report.invalid.is_empty();
                let refused = || rules(report, RuleOutcome::is_unfulfilled);
                let has_fields = refused().any(|cause| matches!(cause, Cause::Rule(rule) if is_of_fields(rule)));
                let fields = report.invalid.iter().filter(|_| has_fields).map(Cause::Invalid);
                let others = refused().filter(|cause| !matches!(cause, Cause::Rule(rule) if is_of_fields(rule)));
                fields.chain(others).collect()
            }
            Self::Unknown => {
                let invalid = report.invalid.iter().map(Cause::Invalid);
                let is_cause = |finding: &Finding| UNKNOWN.iter().any(|check| check.code() == finding.code);
                invalid.chain(rules(report, |rule| is_unknown(rule.reason))).chain(findings(report, is_cause)).collect()
            }
            Self::Warning => {
                let invalid = report.invalid.iter().map(Cause::Invalid);
                // The webhook returns some of the findings, which the report has with their lines.
                let is_own = |warning: &&String| !is_note(warning) && !report.has_finding(warning);
                let own = report.warnings.iter().filter(is_own);
                let is_cause = |finding: &Finding| finding.severity <= Severity::Warning;
                let own = own.map(|warning| Cause::Warning(warning));
                invalid.chain(own).chain(findings(report, is_cause)).collect()
            }
        }
    }

    /// Returns true if `warning` about a document is a cause.
    #[must_use]
    pub fn is_caused_by(self, warning: &DocumentWarning) -> bool {
        match self {
            Self::Changed | Self::Refused => false,
            Self::Unknown => {
                let is_unknown = |code| UNKNOWN.iter().any(|check| check.code() == code);
                warning.hides_pods || warning.check.is_some_and(is_unknown)
            }
            Self::Warning => true,
        }
    }
}

impl Cause<'_> {
    /// Returns true if the cause is a label of the pod's namespace.
    #[must_use]
    pub fn is_of_namespace(self) -> bool {
        matches!(self, Self::Finding(finding) if finding.subject == NAMESPACE_FIELD)
    }

    /// Returns true if the cause, one in `report`, is a rule of which `other` is the warning.
    #[must_use]
    pub fn includes(self, other: Cause<'_>, report: &PodReport) -> bool {
        match (self, other) {
            (Self::Rule(rule), Cause::Warning(warning)) => {
                refused_rule(report, warning).is_some_and(|refused| refused.rule == rule.rule)
            }
            _ => false,
        }
    }

    /// Describes the cause in `report` in one line: file and line, role, rule, reason.
    #[must_use]
    pub fn describe(self, report: &PodReport) -> String {
        match self {
            Self::Patch(rules) => {
                let applied = rules.iter().filter(|rule| rule.outcome == Verdict::Applied);
                line(report, WORKLOAD, &applied.map(name).collect::<Vec<_>>().join(", "))
            }
            Self::Rule(rule) => {
                line(report, report.rule_position(rule.rule), &format!("{}: {}", name(rule), rule.message))
            }
            Self::Invalid(field) => {
                let cause = format!("{}: {}", UNKNOWN_FIELDS.code(), field.problem());
                line(report, (field.source.as_deref(), field.line), &cause)
            }
            Self::Finding(Finding { code, message, line: at, source, .. }) if self.is_of_namespace() => {
                // Without a Namespace in the input, the line is that of the pod.
                let found = source.as_deref().zip(*at);
                let position = found.map(|(source, line)| format!("{source}:{line}: ")).unwrap_or_default();
                format!("{position}Namespace {}: {code}: {message}", report.namespace)
            }
            Self::Finding(Finding { code, message, line: at, source, .. }) => {
                line(report, (source.as_deref(), *at), &format!("{code}: {message}"))
            }
            Self::Warning(warning) => line(report, warning_position(report, warning), warning),
        }
    }
}

fn rules(report: &PodReport, is_cause: fn(&RuleOutcome) -> bool) -> impl Iterator<Item = Cause<'_>> {
    report.rules.iter().filter(move |rule| is_cause(rule)).map(Cause::Rule)
}

/// Returns the findings that are causes. Invalid fields are causes of their own.
pub(super) fn findings(report: &PodReport, is_cause: fn(&Finding) -> bool) -> impl Iterator<Item = Cause<'_>> {
    let is_invalid = |finding: &&Finding| report.invalid.iter().any(|field| field.pointer == finding.subject);
    let causes = report.lint.iter().filter(move |finding| is_cause(finding));
    causes.filter(move |finding| !is_invalid(finding)).map(Cause::Finding)
}

/// Returns the position of a warning: that of its rule.
fn warning_position<'a>(report: &'a PodReport, warning: &str) -> Position<'a> {
    let rule = report.rules.iter().find(|rule| is_warning_of(rule.rule, warning));
    rule.map_or(WORKLOAD, |rule| report.rule_position(rule.rule))
}

/// Returns the rule whose name `warning` starts with, if it is a cause of [`Condition::Refused`].
fn refused_rule<'a>(report: &'a PodReport, warning: &str) -> Option<&'a RuleOutcome> {
    report.rules.iter().find(|rule| rule.is_unfulfilled() && is_warning_of(rule.rule, warning))
}

/// Returns true if `warning` starts with the name of `rule`.
pub(super) fn is_warning_of(rule: RuleId, warning: &str) -> bool {
    warning.strip_prefix(rule.name()).is_some_and(|rest| rest.starts_with([':', ' ']))
}

/// Returns true if a pod selects a profile or mode that does not exist.
fn is_unknown(reason: Reason) -> bool {
    matches!(reason, Reason::UnknownFabric | Reason::UnknownGangMode | Reason::UnknownTrafficMode)
}

/// Returns a cause with its position: `jobs/llama.yaml:7: PyTorchJob default/llama Worker: fabric UnknownFabric`.
fn line(report: &PodReport, at: Position<'_>, cause: &str) -> String {
    let PodReport { kind, namespace, name, role, .. } = report;
    let source = at.0.unwrap_or(&report.source);
    let position = at.1.or(report.line).map(|line| format!("{source}:{line}: ")).unwrap_or_default();
    let role = if role == SOLE_ROLE { String::new() } else { format!(" {role}") };
    format!("{position}{kind} {namespace}/{name}{role}: {cause}")
}

fn name(rule: &RuleOutcome) -> String {
    format!("{} {}", rule.rule.name(), rule.reason.code())
}
