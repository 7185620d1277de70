//! Labels and annotations of Namespaces in the input.

use std::collections::BTreeMap;

use super::manifest_context;
use crate::config::Fabric;
use crate::finding::{Finding, Severity};
use crate::lint::namespace_keys_without_effect;
use crate::manifest::{Document, DocumentWarning};

/// Returns warnings about the labels and annotations of a Namespace that have no effect. Without them, only the pods of the Namespace,
/// which are often in other files, would show the problem.
pub(super) fn label_warnings(namespace: &Document, fabric: &Fabric) -> Vec<DocumentWarning> {
    let [labels, annotations] =
        ["labels", "annotations"].map(|map| manifest_context::metadata_map(&namespace.value, map));
    let shown = reported(&labels, &annotations, fabric);
    let warning = |finding: Finding| DocumentWarning {
        source: namespace.source.clone(),
        document: namespace.document,
        line: namespace.pointer_line(&finding.subject),
        check: Some(finding.code),
        message: format!("Namespace {}: {}", super::name_of(namespace), finding.message),
    };
    let mut warnings: Vec<DocumentWarning> = shown.map(warning).collect();
    warnings.sort_by_key(|warning| warning.line);
    warnings
}

/// Returns a message about each of `labels`, those of all namespaces, that has no effect.
pub(super) fn label_problems(labels: &BTreeMap<String, String>, fabric: &Fabric) -> Vec<String> {
    reported(labels, &BTreeMap::new(), fabric).map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

/// Returns the findings of FP045 that are reported as warnings.
fn reported(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    fabric: &Fabric,
) -> impl Iterator<Item = Finding> {
    let findings = namespace_keys_without_effect(labels, annotations, fabric).into_iter();
    findings.filter(|finding| finding.severity <= Severity::Warning)
}
