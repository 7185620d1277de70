//! Pods that a scheduling gate holds.

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, pod_names, verb};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::finding::Severity;
use crate::names::join_names;

use super::queue;

/// Prefix of the gates of Kueue.
const KUEUE: &str = "kueue.x-k8s.io/";
/// Gate of Kueue that it removes when it has quota and chooses the nodes of a pod.
const TOPOLOGY: &str = "kueue.x-k8s.io/topology";
const TOPOLOGY_FIX: &str = "\
    Kueue adds this gate to jobs that have quota, and removes it when it assigns their nodes: check the log of its controller, and \
    the topology assignment in the status of the Workload";

/// Returns the finding about `gated`, all pods of a job without a node.
pub(super) fn report(job: &Job<'_>, context: &Context<'_>, gated: &[&PodRecord]) -> Diagnosis {
    let mut gate_names: Vec<&str> = gated.iter().flat_map(|pod| &pod.gates).map(|gate| &**gate).collect();
    gate_names.sort_unstable();
    gate_names.dedup();
    let noun = if gate_names.len() == 1 { "gate" } else { "gates" };
    let is_queued = gate_names.iter().all(|gate| gate.starts_with(KUEUE));
    let of_group = || context.queue_group(gated.first()?);
    let queued = context.queue_workload(job).or_else(of_group).filter(|_| is_queued);
    let names = pod_names(gated);
    let held = verb(gated.len(), "is held", "are held");
    let message = format!("{names} {held} by the scheduling {noun} {}", join_names(&gate_names));
    let evidence =
        gated.iter().map(|pod| Evidence::new(pod.title(), "spec.schedulingGates", &pod.gates.join(", "), pod.created));
    let code = DiagnosisCode::PodsGated;
    let waste = job.waste(gated, None, context.now);
    let Some(queued) = queued else {
        let mut diagnosis = Diagnosis::new(code, job.workload_name(), Recovery::GateHeld, &message);
        if is_queued && gate_names == [TOPOLOGY] {
            diagnosis = diagnosis.with_fix(TOPOLOGY_FIX);
        } else if is_queued {
            // A job that waits for quota needs no action; without its Workload, nothing shows another cause.
            diagnosis.finding.severity = Severity::Info;
        }
        return diagnosis.with_evidence(evidence).with_waste(waste);
    };
    let state = queue::state(Some(queued), queued.queue.as_deref());
    Diagnosis::new(code, job.workload_name(), state.recovery, &format!("{message}: {}", state.message))
        .with_severity(state.severity)
        .with_fix(state.fix)
        .with_evidence(queue::evidence(queued))
        .with_evidence(evidence)
        .with_waste(waste)
}
