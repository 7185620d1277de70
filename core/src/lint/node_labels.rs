//! Part of FP028: node labels that the node selector and the required node affinity of a pod require, but that exclude each other, or
//! whose keys are misspelled.

use json_patch::jsonptr::PointerBuf;
use serde_json::{Map, Value};

use super::context::CheckContext;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::hint::is_typo;
use crate::keys;

/// How to fix a label.
const FIX: &str = "select the same nodes in nodeSelector and affinity, or remove one of them";
/// How to fix a key.
const FIX_FOR_KEYS: &str = "correct the key of the label in nodeSelector or affinity";

/// Node labels of Kubernetes, of clouds, and of the operators that label nodes with accelerators.
const KNOWN: [&str; 36] = [
    keys::INSTANCE_TYPE,
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-accelerator-count",
    "cloud.google.com/gke-gpu",
    "cloud.google.com/gke-nodepool",
    "cloud.google.com/gke-spot",
    "cloud.google.com/gke-tpu-accelerator",
    "cloud.google.com/gke-tpu-topology",
    "cloud.google.com/machine-family",
    "eks.amazonaws.com/capacityType",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/capacity-type",
    "karpenter.sh/nodepool",
    keys::KARPENTER_MACHINE[0],
    keys::KARPENTER_MACHINE[1],
    "kubernetes.azure.com/agentpool",
    "node.coreweave.cloud/type",
    "nvidia.com/gpu.clique",
    "nvidia.com/gpu.count",
    "nvidia.com/gpu.family",
    "nvidia.com/gpu.machine",
    "nvidia.com/gpu.memory",
    "nvidia.com/gpu.present",
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.replicas",
    "nvidia.com/mig.capable",
    "nvidia.com/mig.config",
    "nvidia.com/mig.strategy",
];
/// Operators that only a node with the label satisfies.
const REQUIRING: [&str; 4] = ["In", "Exists", "Gt", "Lt"];
/// Path of the required node affinity of a pod.
const REQUIRED_AFFINITY: [&str; 4] =
    ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
/// Minimum length of the name of a label, behind its domain, that may be misspelled. Of shorter ones, only the domain may be.
const MIN_NAME: usize = 4;

/// Reports the first label of the node selector whose value the required node affinity excludes, if each of its terms excludes the
/// value of one: the scheduler requires the whole selector and one of the terms.
pub(super) fn check(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    report_misspelled(context, findings);
    let Some(selector) = context.spec("nodeSelector").and_then(Value::as_object) else { return };
    let Some((first, others)) = terms(context).and_then(|terms| terms.split_first()) else { return };
    let Some(label) = excluded_label(first, selector) else { return };
    if others.iter().all(|term| excluded_label(term, selector).is_some()) {
        let field = PointerBuf::from_tokens(["spec", "nodeSelector", label]).to_string();
        let message = format!("no node matches: nodeSelector and required node affinity disagree on {label}");
        findings.push_with_fix(Severity::Error, field, message, FIX);
    }
}

/// Reports the keys of node labels that are misspelled: no node has them, and the pod stays Pending.
fn report_misspelled(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    let mut report = |key: &str, field: String| {
        if let Some(near) = misspelled_label(key) {
            let message = format!("no node is known to have the label {key}: did you mean {near}?");
            findings.push_with_fix(Severity::Warning, field, message, FIX_FOR_KEYS);
        }
    };
    for key in context.spec("nodeSelector").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
        report(key, PointerBuf::from_tokens(["spec", "nodeSelector", key]).to_string());
    }
    for (term_index, term) in terms(context).into_iter().flatten().enumerate() {
        let expressions = term.get("matchExpressions").and_then(Value::as_array);
        for (index, expression) in expressions.into_iter().flatten().enumerate() {
            // Nodes without the label are those that these operators accept.
            let operator = expression.get("operator").and_then(Value::as_str).unwrap_or_default();
            let Some(key) = expression.get("key").and_then(Value::as_str).filter(|_| REQUIRING.contains(&operator))
            else {
                continue;
            };
            let steps = ["nodeSelectorTerms", &term_index.to_string(), "matchExpressions", &index.to_string(), "key"];
            report(key, PointerBuf::from_tokens(REQUIRED_AFFINITY.into_iter().chain(steps)).to_string());
        }
    }
}

/// Returns the label of nodes that `key`, an unknown one, is meant to be.
fn misspelled_label(key: &str) -> Option<&'static str> {
    if KNOWN.contains(&key) {
        return None;
    }
    let (domain, name) = key.split_once('/')?;
    KNOWN.into_iter().find(|known| {
        let (known_domain, known_name) = known.split_once('/').unwrap_or_default();
        let is_name = known_name.len() >= MIN_NAME && is_typo(name, known_name);
        domain == known_domain && is_name || name == known_name && is_typo(domain, known_domain)
    })
}

/// Returns the terms of the required node affinity.
fn terms<'a>(context: &CheckContext<'a>) -> Option<&'a Vec<Value>> {
    let affinity = context.spec("affinity")?;
    let required = affinity.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    required.get("nodeSelectorTerms")?.as_array()
}

/// Returns the label of `selector` whose value an expression of `term` excludes.
fn excluded_label<'a>(term: &'a Value, selector: &Map<String, Value>) -> Option<&'a str> {
    let expressions = term.get("matchExpressions")?.as_array()?;
    expressions.iter().find_map(|expression| {
        let key = expression.get("key")?.as_str()?;
        let value = selector.get(key)?;
        let is_listed = || Some(expression.get("values")?.as_array()?.contains(value));
        let is_excluded = match expression.get("operator")?.as_str()? {
            "In" => !is_listed()?,
            "NotIn" => is_listed()?,
            "DoesNotExist" => true,
            _ => false,
        };
        is_excluded.then_some(key)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("node.kubernetes.io/instance-typ", Some("node.kubernetes.io/instance-type"))]
    #[case("node.kubernets.io/instance-type", Some("node.kubernetes.io/instance-type"))]
    #[case("topology.kubernetes.io/zon", Some("topology.kubernetes.io/zone"))]
    #[case("cloud.google.com/gke-acelerator", Some("cloud.google.com/gke-accelerator"))]
    #[case("nvidia.com/gpu.prodct", Some("nvidia.com/gpu.product"))]
    #[case("kubernetes.io/Hostname", Some("kubernetes.io/hostname"))]
    #[case("nvidia.com/gpu-product", Some("nvidia.com/gpu.product"))]
    #[case("nvidia.com/gpu.mode", None)]
    #[case("nvidia.com/gpu.product.2", None)]
    #[case("topology.kubernetes.io/zone", None)]
    #[case("topology.kubernetes.io/block", None)]
    #[case("topology.example.com/zone", None)]
    #[case("kubernetes.io/role", None)]
    #[case("kubernetes.io/os2", None)]
    #[case("node-role.kubernetes.io/worker", None)]
    #[case("cloud.google.com/gke-tpu-partition-2x2x1-id", None)]
    #[case("node.kubernetes.io/instance-family", None)]
    #[case("instance-type", None)]
    #[case("pool", None)]
    fn misspelled_labels_have_a_suggestion(#[case] key: &str, #[case] expected: Option<&str>) {
        assert_eq!(misspelled_label(key), expected);
    }

    #[test]
    fn no_known_label_is_a_misspelled_one() {
        for key in KNOWN.into_iter().chain(keys::MACHINES) {
            assert_eq!(misspelled_label(key), None, "{key}");
        }
    }
}
