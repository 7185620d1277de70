//! Machines that a pod selects by the labels of nodes.

use std::borrow::Cow;

use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

use super::Pod;
use crate::keys;

/// Path of the required node affinity in a pod.
const REQUIRED_AFFINITY: [&str; 4] =
    ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

/// A value of a node label that a pod selects.
struct SelectedValue<'a> {
    text: &'a str,
    /// Indexes of the term, of the expression and of the value in the required node affinity; `None` if the node selector contains the
    /// value.
    in_affinity: Option<[usize; 3]>,
}

impl<'a> Pod<'a> {
    /// Returns the machines that the pod restricts itself to, by node selector or required node affinity. Empty if it may run on
    /// any.
    #[must_use]
    pub fn selected_machines(self) -> Vec<Cow<'a, str>> {
        match keys::MACHINES.iter().find_map(|label| selected_values(self, label)) {
            Some(machines) => machines.into_iter().map(|machine| Cow::Borrowed(without_prefix(machine.text))).collect(),
            None => karpenter_machine(self).map(Cow::Owned).into_iter().collect(),
        }
    }

    /// Returns true if the node selector or required node affinity of the pod names values of the node label `label`.
    #[must_use]
    pub fn selects_by(self, label: &str) -> bool {
        selected_values(self, label).is_some()
    }

    /// Returns the JSON pointer of the field by which the pod selects `machine`, one of [`Self::selected_machines`]: an entry of the node
    /// selector, or a value in the node affinity. Of the two parts of a machine, that is the first one.
    #[must_use]
    pub fn machine_pointer(self, machine: &str) -> Option<String> {
        let of_label = |label: &'static str| Some((label, selected_values(self, label)?));
        let mut labels = keys::MACHINES.into_iter().chain(keys::KARPENTER_MACHINE);
        let (label, values) = labels.find_map(of_label)?;
        let named = values.iter().find(|value| without_prefix(value.text) == machine).or(values.first())?;
        let Some(indexes) = named.in_affinity else {
            return Some(PointerBuf::from_tokens(["spec", "nodeSelector", label]).to_string());
        };
        let [term, expression, value] = indexes.map(|index| index.to_string());
        let expression = ["nodeSelectorTerms", &term, "matchExpressions", &expression, "values", &value];
        Some(PointerBuf::from_tokens(REQUIRED_AFFINITY.into_iter().chain(expression)).to_string())
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
        ([family], [size]) => Some(format!("{}.{}", family.text, size.text)),
        _ => None,
    }
}

/// Returns the values of a node label that the node selector or required node affinity of `pod` allows.
fn selected_values<'a>(pod: Pod<'a>, label: &str) -> Option<Vec<SelectedValue<'a>>> {
    if let Some(text) = pod.spec()?.get("nodeSelector").and_then(|selector| selector.get(label)?.as_str()) {
        return Some(vec![SelectedValue { text, in_affinity: None }]);
    }
    let required = REQUIRED_AFFINITY.iter().try_fold(pod.raw(), |value, key| value.get(key))?;
    let mut values = Vec::new();
    for (term_index, term) in required.get("nodeSelectorTerms")?.as_array()?.iter().enumerate() {
        let is_named = |expression: &Value| {
            let has = |field: &str, text: &str| expression.get(field).and_then(Value::as_str) == Some(text);
            has("key", label) && has("operator", "In")
        };
        let expressions = term.get("matchExpressions")?.as_array()?;
        let named = expressions.iter().position(is_named)?;
        let allowed = expressions.get(named)?.get("values")?.as_array()?.iter().enumerate();
        let allowed = allowed.filter_map(|(index, value)| {
            Some(SelectedValue { text: value.as_str()?, in_affinity: Some([term_index, named, index]) })
        });
        values.extend(allowed);
    }
    (!values.is_empty()).then_some(values)
}
