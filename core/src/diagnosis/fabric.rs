//! Checks of the fabric profiles that trainmesh gave to the pods of a job.

use super::context::Context;
use super::job::{Job, pod_names};
use super::snapshot::pod::PodRecord;
use super::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::keys;

/// Checks a workload.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    check_refused(job, context, found);
    check_mixed(job, context, found);
}

/// Reports ranks for which a profile was refused, except those that use another network than TCP without it.
fn check_refused(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let is_active =
        |pod: &&PodRecord| pod.is_rank() && pod.deleted.is_none() && pod.accelerators() > 0 && !uses_rdma(pod, context);
    let refused = job.active().filter(is_active).filter_map(|pod| Some((pod, pod.transport.refused?)));
    let refused: Vec<(&PodRecord, &str)> = refused.collect();
    let Some((_, first)) = refused.first() else { return };
    let pods: Vec<&PodRecord> = refused.iter().map(|(pod, _)| *pod).collect();
    let field = format!("metadata.annotations[{}]", keys::REFUSED);
    let evidence = refused
        .iter()
        .map(|(pod, reason)| Evidence::new(pod.title(), field.as_str(), &format!("fabric={reason}"), pod.created));
    let message = format!("the fabric profile of {} was refused: {first}", pod_names(&pods));
    let name = job.workload_name();
    let finding = Diagnosis::new(DiagnosisCode::FabricRefused, name, Recovery::FabricStays, &message);
    found.push(finding.with_evidence(evidence));
}

/// Returns true if the logs of a pod contain networks, and none of them is TCP.
fn uses_rdma(pod: &PodRecord, context: &Context<'_>) -> bool {
    let is_known = context.logs(pod).any(|log| !log.networks.is_empty());
    is_known && context.logs(pod).all(|log| log.tcp().is_none())
}

/// Reports ranks with different profiles.
fn check_mixed(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let ranks: Vec<&PodRecord> = job
        .active()
        .filter(|pod| job.is_collective() && pod.is_rank() && pod.deleted.is_none() && pod.accelerators() > 0)
        .collect();
    let Some(first) = ranks.iter().find(|pod| pod.fabric_revision.is_some()) else { return };
    let deviating: Vec<&PodRecord> =
        ranks.iter().copied().filter(|pod| pod.fabric_revision != first.fabric_revision).collect();
    if deviating.is_empty() {
        return;
    }
    let field = format!("metadata.annotations[{}]", keys::FABRIC_REVISION);
    let evidence = [*first].into_iter().chain(deviating.iter().copied()).map(|pod| {
        let value = pod.fabric_revision.as_deref().unwrap_or("not set");
        Evidence::new(pod.title(), field.as_str(), value, pod.created)
    });
    let message =
        format!("the fabric profile of {} differs from that of {}", pod_names(&deviating), first.short_name());
    let since = deviating.iter().filter_map(|pod| pod.created).max();
    found.push(
        Diagnosis::new(DiagnosisCode::FabricMixed, job.workload_name(), Recovery::FabricStays, &message)
            .with_evidence(evidence)
            .with_waste(job.waste(&deviating, since, context.now)),
    );
}
