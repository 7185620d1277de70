//! Agents of torchrun that exited after their restarts of the processes.
//!
//! Restarts inside torchrun are not in the API: only the exit code of the agent and the restarts of its container are.

use crate::diagnosis::job::{Job, pod_names};
use crate::diagnosis::replacement::Replacement;
use crate::diagnosis::snapshot::container::{ContainerRecord, TerminationRecord};
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Setting with the number of restarts.
const SETTING: &str = "PET_MAX_RESTARTS";
/// Exit code of torchrun after a failure of its processes.
const FAILURE: i64 = 1;

/// Reports agents that do not run after they exited with a failure.
pub(super) fn check(job: &Job<'_>, found: &mut Vec<Diagnosis>) {
    let has_active = job.active().next().is_some();
    let agents = job.not_replaced(|pod| pod.is_rank() && exited(pod).is_some());
    if agents.is_empty() || !has_active {
        return;
    }
    let budgets = agents.iter().filter_map(|pod| exited(pod)?.0.rendezvous.setting(SETTING));
    let budget = budgets.max().unwrap_or_default();
    let message = format!("torchrun of {} exited: its {budget} restarts may be used up", pod_names(&agents));
    let recovery = match job.replacement(&agents) {
        Replacement::Restarts => Recovery::AgentReplaced,
        Replacement::Never | Replacement::LimitReached => Recovery::AgentEnded,
        Replacement::Unknown => Recovery::PeersUnknown,
    };
    let evidence = agents.iter().filter_map(|pod| {
        let (container, last) = exited(pod)?;
        let value = format!("{}, {} of the container", last.summary(), container.restarts_text());
        Some(Evidence::new(pod.title(), container.termination_field(), &value, last.finished))
    });
    let code = DiagnosisCode::RestartsUsedUp;
    found.push(Diagnosis::new(code, job.workload_name(), recovery, &message).with_evidence(evidence));
}

/// Returns the agent of a pod that exited with a failure and does not run.
fn exited(pod: &PodRecord) -> Option<(&ContainerRecord, &TerminationRecord)> {
    let is_agent = |container: &&ContainerRecord| container.rendezvous.setting(SETTING).is_some();
    let container = pod.main().find(is_agent).filter(|container| !container.is_running())?;
    let last = container.last_termination().filter(|last| last.exit_code == FAILURE)?;
    Some((container, last))
}
