//! Values of the chart that must not be null: Helm removes the default of such a value before the chart checks the values.

use super::Problem;
use crate::yaml::Node;

/// Mappings of the chart whose values all have defaults that the chart requires. Others, such as labels, have free keys.
const MAPPINGS: [&str; 23] = [
    "certificates",
    "certificates.certManager",
    "certificates.provided",
    "controller",
    "controller.podDisruptionBudget",
    "controller.serviceAccount",
    "execPolicy",
    "image",
    "logging",
    "metrics",
    "metrics.dashboard",
    "metrics.podMonitor",
    "metrics.prometheusRule",
    "metrics.serviceMonitor",
    "networkPolicy",
    "networkPolicy.egress",
    "podSecurityContext.seccompProfile",
    "webhook",
    "webhook.autoscaling",
    "webhook.clientCA",
    "webhook.podDisruptionBudget",
    "webhook.serviceAccount",
    // Of all values.
    "",
];
/// Values of these mappings that may be null.
const OPTIONAL: [&str; 4] = ["config", "controller.replicas", "enabled", "webhook.replicas"];
/// Required values of mappings with other keys.
const OTHERS: [&str; 2] = ["global.imagePullSecrets", "global.imageRegistry"];
/// Levels of the longest path in the lists.
const MAX_LEVELS: usize = 3;

/// Returns a problem for each value that is null although the chart requires it.
pub(super) fn emptied(values: Node<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    visit(values, "", MAX_LEVELS, &mut problems);
    problems
}

fn visit(mapping: Node<'_>, path: &str, levels: usize, problems: &mut Vec<Problem>) {
    let is_complete = MAPPINGS.contains(&path);
    for (key, entry) in mapping.entries() {
        let field = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let is_required = || is_complete && !OPTIONAL.contains(&field.as_str()) || OTHERS.contains(&field.as_str());
        if entry.value.is_null() && is_required() {
            let fix = if MAPPINGS.contains(&field.as_str()) { "write {}" } else { "set a value" };
            let message =
                format!("empty, so that Helm removes its default, which the chart requires: remove it, or {fix}");
            problems.push(Problem { line: Some(entry.line), field, message });
        } else if levels > 1 && field != "config" {
            visit(entry, &field, levels - 1, problems);
        }
    }
}
