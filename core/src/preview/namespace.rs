//! Labels and annotations of Namespaces in the input.

use std::collections::BTreeMap;
use std::sync::Arc;

use json_patch::jsonptr::PointerBuf;

use super::{PodReport, Preview, namespace_metadata};
use crate::config::Fabric;
use crate::finding::{Finding, Severity};
use crate::lint::{NAMESPACE_FIELD, namespace_keys_without_effect};
use crate::manifest::{Document, DocumentWarning};
use crate::mutate::{RuleId, RuleOutcome};
use crate::own_keys::Location;
use crate::{keys, scope};

/// Returns warnings about the labels and annotations of a Namespace that have no effect. Without them, only the pods of the Namespace,
/// which are often in other files, would show the problem. `effective` are the labels of the namespace that apply, none of which has an
/// effect if it `is_excluded`.
pub(super) fn label_warnings(
    namespace: &Document,
    effective: &BTreeMap<String, String>,
    fabric: &Fabric,
    is_excluded: bool,
) -> Vec<DocumentWarning> {
    let labels = labels_of(namespace, effective);
    let annotations = namespace_metadata::metadata_map(&namespace.value, "annotations");
    let shown = reported(&labels, &annotations, fabric, is_excluded);
    let warning = |finding: Finding| {
        let message = format!("Namespace {}: {}", super::name_of(namespace), finding.message);
        DocumentWarning::at(namespace, namespace.pointer_position(&finding.subject), finding.code, message)
    };
    let mut warnings: Vec<DocumentWarning> = shown.map(warning).collect();
    warnings.sort_by_key(|warning| warning.line);
    warnings
}

impl Preview {
    /// Sets the positions of findings about the labels of `namespace` to those of its Namespace in the input, if there is one, and removes
    /// those that the warnings about it, or about the labels of all namespaces, contain. Returns the removed ones.
    pub(super) fn locate_in_namespace(&self, namespace: &str, findings: &mut Vec<Finding>) -> Vec<Finding> {
        let is_of_namespace = |finding: &Finding| finding.subject == NAMESPACE_FIELD;
        if !findings.iter().any(is_of_namespace) {
            return Vec::new();
        }
        let document = self.context.namespace(namespace);
        let labels = match (self.context.override_labels(), document) {
            (Some(labels), _) => labels.clone(),
            (None, Some(document)) => labels_of(document, self.context.labels(namespace)),
            (None, None) => return Vec::new(),
        };
        // The warnings about the labels of all namespaces do not depend on the namespace.
        let is_excluded = self.context.override_labels().is_none() && self.installation.excludes(namespace);
        let known: Vec<Finding> = reported(&labels, &BTreeMap::new(), &self.config.fabric, is_excluded).collect();
        let is_reported = |finding: &mut Finding| {
            let problem = finding.message.strip_prefix("namespace ").filter(|_| is_of_namespace(finding));
            problem.is_some_and(|problem| known.iter().any(|known| known.message == problem))
        };
        let removed: Vec<Finding> = findings.extract_if(.., is_reported).collect();
        let Some(document) = document else { return removed };
        for finding in findings.iter_mut().filter(|finding| is_of_namespace(finding)) {
            let (source, line) = label_position(document, label_of(finding).unwrap_or_default());
            (finding.source, finding.line) = (Some(source.to_string()), Some(line));
        }
        removed
    }

    /// Sets the positions of refusals in `report` because of a label of its namespace to that in the Namespace of the input.
    pub(super) fn locate_rules_in_namespace(&self, report: &mut PodReport) {
        let Some(document) = self.context.namespace(&report.namespace) else { return };
        let PodReport { rules, rule_positions, .. } = report;
        for (rule, position) in rule_positions {
            let is_of_namespace =
                |outcome: &RuleOutcome| outcome.rule == *rule && outcome.field.as_deref() == Some(NAMESPACE_FIELD);
            if let Some(label) = rule.selected_by().filter(|_| rules.iter().any(is_of_namespace)) {
                let (source, line) = label_position(document, label);
                *position = (Some(source.to_string()), Some(line));
            }
        }
    }
}

/// Returns the JSON pointer of the label of a Namespace that `finding` is about, if its position is in the Namespace instead of the manifest of
/// the pod.
pub(crate) fn label_in_namespace(finding: &Finding) -> Option<String> {
    let is_located = finding.subject == NAMESPACE_FIELD && finding.source.is_some();
    label_of(finding).filter(|_| is_located).map(label_pointer)
}

/// Does the same as [`label_in_namespace`] for the field of `rule`, refused for the pod of `report`.
pub(crate) fn refused_label_in_namespace(report: &PodReport, rule: &RuleOutcome) -> Option<String> {
    let is_located = rule.field.as_deref() == Some(NAMESPACE_FIELD) && report.rule_position(rule.rule).0.is_some();
    rule.rule.selected_by().filter(|_| is_located).map(label_pointer)
}

/// Returns the label of the namespace that `finding` is about: that which it names, or by which the refused rule is selected.
fn label_of(finding: &Finding) -> Option<&str> {
    let message = &*finding.message;
    if let Some(named) = message.strip_prefix(Location::NamespaceLabel.name()) {
        return named.trim_start().split([' ', '=', ':']).next();
    }
    let (rule, _) = message.split_once(' ')?;
    RuleId::ALL.into_iter().find(|known| known.name() == rule)?.selected_by()
}

/// Returns the file and line of a label of a Namespace, or of the closest field around it.
fn label_position(namespace: &Document, label: &str) -> (Arc<str>, u64) {
    namespace.pointer_position(&label_pointer(label))
}

fn label_pointer(label: &str) -> String {
    PointerBuf::from_tokens(["metadata", "labels", label]).to_string()
}

/// Returns the labels of `namespace`, and the opt-in if it is only in `effective`, those of `--namespace-labels` or of the cluster.
fn labels_of(namespace: &Document, effective: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut labels = namespace_metadata::labels(&namespace.value);
    if effective.get(keys::INJECT).is_some_and(|mode| mode == scope::ENABLED) {
        labels.entry(keys::INJECT.to_owned()).or_insert_with(|| scope::ENABLED.to_owned());
    }
    labels
}

/// Returns a warning about each of `labels`, those of all namespaces, that has no effect. `added` are those of flags of their own.
pub(super) fn override_warnings(
    labels: &BTreeMap<String, String>,
    added: &BTreeMap<String, String>,
    fabric: &Fabric,
) -> Vec<DocumentWarning> {
    let warning = |finding: Finding| {
        let all = DocumentWarning::NAMESPACE_LABELS;
        match added.keys().find(|key| label_pointer(key) == finding.subject) {
            // The value is valid, so that the opt-in is missing.
            Some(key) => {
                let message = format!("{}: add the latter to {all}", finding.message);
                DocumentWarning::about_labels(flag_of(key), finding.code, message)
            }
            None => DocumentWarning::about_labels(all, finding.code, finding.message.into_owned()),
        }
    };
    let annotations = BTreeMap::new();
    reported(labels, &annotations, fabric, false).map(warning).collect()
}

/// Returns the flag that adds the label `key` to all namespaces.
fn flag_of(key: &str) -> &'static str {
    if key == keys::GANG { DocumentWarning::GANG } else { DocumentWarning::FABRIC }
}

/// Returns the findings of FP045 that are reported as warnings.
fn reported(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    fabric: &Fabric,
    is_excluded: bool,
) -> impl Iterator<Item = Finding> {
    let findings = namespace_keys_without_effect(labels, annotations, fabric, is_excluded).into_iter();
    findings.filter(|finding| finding.severity <= Severity::Warning)
}
