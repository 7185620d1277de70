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
/// The same for conditions about the setup of a node, whose status False may be intended.
const SETUP: [&str; 8] =
    ["installed", "available", "enabled", "configured", "initialized", "passed", "succeeded", "supported"];
/// Parts of the keys of taints that mark a problem. Other taints only reserve the node for accelerators.
const PROBLEMS: [&str; 5] = ["error", "fault", "fail", "unhealthy", "xid"];

/// Field of the mark of `HyperPod`.
const MARK_FIELD: &str = "metadata.labels[sagemaker.amazonaws.com/node-health-status]";
/// Fix for a node that `HyperPod` has marked.
const MARKED_FIX: &str = "\
    HyperPod reboots or replaces the node itself if its automatic recovery is enabled; otherwise cordon the node, move the job, and \
    reboot or replace the instance";

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
    let (report, are) = (verb(nodes.len(), "reports", "report"), verb(nodes.len(), "is", "are"));
    let nodes = join_names(nodes);
    // The mark of HyperPod may be about another part of the node.
    let is_marked = evidence.iter().all(|(_, problem)| problem.field == MARK_FIELD);
    let (recovery, message) = if is_marked {
        (Recovery::NodeMarked, format!("{nodes} {are} marked by HyperPod for a reboot or a replacement"))
    } else {
        (Recovery::DeviceUnhealthy, format!("{nodes} {report} an unhealthy accelerator"))
    };
    let diagnosis = Diagnosis::new(DiagnosisCode::AcceleratorUnhealthy, job.workload_name(), recovery, &message)
        .with_evidence(evidence.into_iter().map(|(_, evidence)| evidence));
    found.push(diagnosis.with_fix(is_marked.then_some(MARKED_FIX)));
}

fn problems(node: &NodeRecord) -> Vec<Evidence> {
    let object = || format!("Node {}", node.name);
    let conditions = node.conditions.iter().filter_map(|condition| {
        let name = condition.kind.to_ascii_lowercase();
        let is_healthy = states_any(&name, &HEALTHY);
        let is_setup = states_any(&name, &SETUP) && !contains_any(&name, &PROBLEMS);
        let unhealthy_status = if is_healthy { "False" } else { "True" };
        let is_problem =
            contains_any(&name, &PARTS) && &*condition.status == unhealthy_status && (is_healthy || !is_setup);
        let field = format!("status.conditions[{}]", condition.kind);
        is_problem.then(|| Evidence::new(object(), field, &condition.summary(), condition.since))
    });
    let taints = node.taints.iter().filter_map(|(key, value)| {
        let name = key.to_ascii_lowercase();
        let is_problem = contains_any(&name, &PARTS) && contains_any(&name, &PROBLEMS);
        let value = value.as_deref().unwrap_or("set");
        is_problem.then(|| Evidence::new(object(), format!("spec.taints[{key}]"), value, None))
    });
    let mark = node.mark.iter().map(|mark| Evidence::new(object(), MARK_FIELD, mark, None));
    conditions.chain(taints).chain(mark).collect()
}

/// Returns true if `name` contains one of `parts` without a negation before it.
fn states_any(name: &str, parts: &[&str]) -> bool {
    let is_stated = |before: &str| !["un", "not", "mis"].iter().any(|negation| before.ends_with(negation));
    parts.iter().any(|part| name.split_once(part).is_some_and(|(before, _)| is_stated(before)))
}

fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}
