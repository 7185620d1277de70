//! Nodes that report an unhealthy accelerator.
//!
//! There is no standard for the names: node-problem-detector, GKE, EKS and NVIDIA's monitors each have their own.

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, verb};
use crate::diagnosis::snapshot::node::NodeRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::names::join_names;

/// Parts of the names of conditions and taints about accelerators, in lower case.
const PARTS: [&str; 5] = ["accelerat", "gpu", "xid", "nvlink", "nvswitch"];
/// Parts of the names of conditions that are True on healthy nodes, in lower case.
const HEALTHY: [&str; 3] = ["healthy", "ready", "ok"];
/// Parts of the keys of taints that mark a problem. Other taints only reserve the node for accelerators.
const PROBLEMS: [&str; 5] = ["error", "fault", "fail", "unhealthy", "xid"];

/// Reports the nodes of a job's pods with a condition or taint about an accelerator.
pub(super) fn check(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let pods = job.active().filter(|pod| pod.accelerators() > 0);
    let mut names: Vec<&str> = pods.filter_map(|pod| pod.node.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let evidence: Vec<(&str, Evidence)> = names
        .into_iter()
        .filter_map(|name| context.node(name))
        .flat_map(|node| problems(node).into_iter().map(|problem| (&*node.name, problem)))
        .collect();
    if evidence.is_empty() {
        return;
    }
    let mut nodes: Vec<&str> = evidence.iter().map(|(node, _)| *node).collect();
    nodes.dedup();
    let report = verb(nodes.len(), "reports", "report");
    let nodes = join_names(nodes);
    let message = format!("{nodes} {report} an unhealthy accelerator");
    let code = DiagnosisCode::AcceleratorUnhealthy;
    let diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::DeviceUnhealthy, &message);
    found.push(diagnosis.with_evidence(evidence.into_iter().map(|(_, evidence)| evidence)));
}

fn problems(node: &NodeRecord) -> Vec<Evidence> {
    let object = || format!("Node {}", node.name);
    let conditions = node.conditions.iter().filter_map(|condition| {
        let name = condition.kind.to_ascii_lowercase();
        let is_healthy = HEALTHY.iter().any(|part| name.contains(part)) && !name.contains("unhealthy");
        let unhealthy_status = if is_healthy { "False" } else { "True" };
        let is_problem = contains_any(&name, &PARTS) && &*condition.status == unhealthy_status;
        let field = format!("status.conditions[{}]", condition.kind);
        is_problem.then(|| Evidence::new(object(), field, &condition.summary(), condition.since))
    });
    let taints = node.taints.iter().filter_map(|(key, value)| {
        let name = key.to_ascii_lowercase();
        let is_problem = contains_any(&name, &PARTS) && contains_any(&name, &PROBLEMS);
        let value = value.as_deref().unwrap_or("set");
        is_problem.then(|| Evidence::new(object(), format!("spec.taints[{key}]"), value, None))
    });
    conditions.chain(taints).collect()
}

fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}
