//! Machines that a pod selects by the labels of nodes.

use std::borrow::Cow;

use serde_json::Value;

use super::Pod;
use crate::keys;

impl<'a> Pod<'a> {
    /// Returns the machines that the pod restricts itself to, by node selector or required node affinity. Empty if it may run on
    /// any.
    #[must_use]
    pub fn selected_machines(self) -> Vec<Cow<'a, str>> {
        match keys::MACHINES.iter().find_map(|label| selected_values(self, label)) {
            Some(machines) => machines.into_iter().map(|machine| Cow::Borrowed(without_prefix(machine))).collect(),
            None => karpenter_machine(self).map(Cow::Owned).into_iter().collect(),
        }
    }

    /// Returns true if the node selector or required node affinity of the pod names values of the node label `label`.
    #[must_use]
    pub fn selects_by(self, label: &str) -> bool {
        selected_values(self, label).is_some()
    }
}

/// Removes the prefix of SageMaker HyperPod, which labels a p5.48xlarge as ml.p5.48xlarge.
pub(crate) fn without_prefix(machine: &str) -> &str {
    machine.strip_prefix("ml.").unwrap_or(machine)
}

/// Returns the instance type of a pod that selects its two parts, one value each.
fn karpenter_machine(pod: Pod<'_>) -> Option<String> {
    let [family, size] = keys::KARPENTER_MACHINE.map(|label| selected_values(pod, label));
    match (&*family?, &*size?) {
        ([family], [size]) => Some(format!("{family}.{size}")),
        _ => None,
    }
}

/// Returns the values of a node label that the node selector or required node affinity of `pod` allows.
fn selected_values<'a>(pod: Pod<'a>, label: &str) -> Option<Vec<&'a str>> {
    let spec = pod.spec()?;
    if let Some(value) = spec.get("nodeSelector").and_then(|selector| selector.get(label)?.as_str()) {
        return Some(vec![value]);
    }
    let required = spec.get("affinity")?.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let mut values = Vec::new();
    for term in required.get("nodeSelectorTerms")?.as_array()? {
        let named = term.get("matchExpressions")?.as_array()?.iter().find(|expression| {
            let has = |field: &str, text: &str| expression.get(field).and_then(Value::as_str) == Some(text);
            has("key", label) && has("operator", "In")
        });
        values.extend(named?.get("values")?.as_array()?.iter().filter_map(Value::as_str));
    }
    (!values.is_empty()).then_some(values)
}
