//! Checks of the logs of a job: the network that NCCL uses, and operations that time out.
//!
//! [`LogReader`] reduces logs of any size to records as they are read. Only lines that decide are evidence: NCCL
//! logs `NET/IB : Using` even if it found no adapter and uses TCP, so `Using network` and `via NET/` count. The absence
//! of a line is no evidence, because most jobs log at rank 0 only.

mod assignment;
mod cadence;
mod job_logs;
mod known;
mod line;
mod message;
mod network;
mod peers;
mod reader;
mod record;
mod timeouts;

use super::context::Context;
use super::job::{Job, Jobs};
use super::snapshot::ClusterSnapshot;
use super::snapshot::container::{ContainerRecord, StateRecord};
use super::snapshot::log::LogName;
use super::{Diagnosis, DiagnosisCode, Evidence, Recovery, Selection};
use job_logs::JobLogs;

pub use assignment::UnassignedLog;
pub use reader::{LogReader, MAX_LINE, MAX_LOG, MAX_LOG_CONTAINERS};

/// Returns the containers of the selected workloads whose logs show the network: main containers that have started, of
/// ranks and of pods with accelerators.
#[must_use]
pub fn log_targets(snapshot: &ClusterSnapshot, selection: &Selection) -> Vec<LogName> {
    let has_started = |container: &&ContainerRecord| {
        matches!(container.state, StateRecord::Running { .. } | StateRecord::Terminated(_)) || container.last.is_some()
    };
    let jobs = Jobs::new(snapshot);
    let pods = jobs.iter().filter(|job| selection.selects(job)).flat_map(|job| job.not_replaced(|_| true));
    let pods = pods.filter(|pod| pod.is_rank() || pod.accelerators() > 0);
    let containers = pods.flat_map(|pod| {
        pod.main().filter(has_started).map(|container| LogName {
            namespace: Some(pod.namespace.clone()),
            pod: pod.name.clone(),
            container: Some(container.name.clone()),
        })
    });
    containers.collect()
}

/// Checks the logs of a workload.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    if !context.has_logs() {
        return;
    }
    let logs = JobLogs::new(job, context);
    known::check(&logs, found);
    known::check_others(&logs, found);
    if job.is_collective() {
        network::check(&logs, found);
        timeouts::check(&logs, found);
        peers::check(&logs, found);
        cadence::check(&logs, found);
        check_debug(&logs, found);
    }
}

/// Reports that nothing is known about the network, and how to change that.
fn check_debug(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let silent: Vec<_> = logs.ranks().filter(|rank| rank.pod.accelerators() > 0).collect();
    let is_unknown = silent.iter().all(|rank| !rank.log.has_nccl && !rank.pod.transport.sets_debug);
    if let Some(first) = silent.first().filter(|_| is_unknown) {
        let evidence = Evidence::new(first.pod.title(), "spec.containers[].env[NCCL_DEBUG]", "not set", None);
        let message = "no log contains a line of NCCL, so the network that it uses is not known";
        found.push(
            logs.diagnosis(DiagnosisCode::NcclDebugUnset, Recovery::NetworkUnknown, message).with_evidence([evidence]),
        );
    }
}
