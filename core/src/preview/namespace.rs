//! Labels and annotations of Namespaces in the input.

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
    let findings = namespace_keys_without_effect(&labels, &annotations, fabric).into_iter();
    let shown = findings.filter(|finding| finding.severity <= Severity::Warning);
    let warning = |finding: Finding| DocumentWarning {
        source: namespace.source.clone(),
        document: namespace.document,
        line: namespace.pointer_line(&finding.subject),
        check: Some(finding.code),
        message: format!("Namespace {}: {}", super::name_of(namespace), finding.message),
    };
    shown.map(warning).collect()
}
