//! Checks of what NCCL's RAS subsystem reports about the communicators of a job.
//!
//! Two reports at different times are compared: ranks with different numbers of operations, or without a response, are normal
//! once, and a finding if nothing has changed. A report is used only if its processes are those of the job, because on the
//! network of a node, any process may answer.

mod stalled;
mod target;

use super::job::Job;
use super::snapshot::pod::PodRecord;
use super::snapshot::ras::{RasRecord, RasResult};
use super::{Diagnosis, DiagnosisCode, Evidence, Recovery};

pub use target::{RasTarget, ras_targets};

/// Checks the reports about a workload.
pub(super) fn check_job(job: &Job<'_>, records: &[RasRecord], found: &mut Vec<Diagnosis>) {
    let name = job.workload_name();
    let Some(record) = records.iter().find(|record| record.workload == name) else { return };
    let has_timeout =
        found.iter().any(|other| other.code == DiagnosisCode::CollectiveTimeout && other.workload == name);
    match &record.result {
        RasResult::Unidentified => {
            let message = "RAS answered, and nothing proves that the process belongs to the job";
            let evidence =
                Evidence::new(format!("Pod {}/{}", name.namespace, record.pod), "spec.hostNetwork", "true", None);
            let finding = Diagnosis::new(DiagnosisCode::RasInconclusive, name, Recovery::RasUnknown, message);
            found.push(finding.with_evidence([evidence]));
        }
        RasResult::Polled(polls) => {
            let before = found.len();
            stalled::check(job, record, polls, found);
            if found.len() == before && has_timeout {
                let message = "RAS sees all ranks with the same number of operations, although an operation timed out";
                let value = format!("{} communicators without a finding", polls[1].communicators.len());
                let finding = Diagnosis::new(DiagnosisCode::RasInconclusive, name, Recovery::RasUnknown, message);
                found.push(finding.with_evidence([evidence(record, "RAS", &value)]));
            }
        }
    }
}

/// Returns what RAS reported as evidence.
fn evidence(record: &RasRecord, field: impl Into<String>, value: &str) -> Evidence {
    Evidence::new(format!("Pod {}/{}", record.workload.namespace, record.pod), field, value, None)
}

/// Returns a process for people: the short name of its pod if the address is that of one, else the address.
fn process_name(job: &Job<'_>, host: &str, process: i64) -> String {
    let is_host = |pod: &&PodRecord| pod.transport.address.as_deref() == Some(host);
    let mut pods = job.pods.iter().copied().filter(is_host);
    let pod = match (pods.next(), pods.next()) {
        (Some(pod), None) => pod.short_name(),
        // Pods on the network of a node share its address.
        _ => host.to_owned(),
    };
    format!("{pod}, process {process}")
}
