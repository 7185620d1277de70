//! The mode `kai`, whose podgrouper creates the groups.

use super::super::RuleDecision;
use super::plan::{marker, plan_managed, plan_scheduler};
use crate::gang::GangMode;
use crate::mutate::{Plan, Reason};
use crate::pod::Pod;
use crate::workload::PodIdentity;

/// Kinds whose pods KAI's podgrouper puts into one group (NVIDIA/KAI-scheduler 0.20.1, `pkg/podgrouper`). It puts each
/// pod of a Job into a group of its own, and gives groups of `JobSets` and `TrainJobs` a minimum of 1.
const GROUPED_BY_KAI: [&str; 7] =
    ["PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "MPIJob", "RayCluster", "LeaderWorkerSet"];

/// Selects KAI-Scheduler, whose podgrouper creates the group, for the kinds that it groups.
pub(super) fn decide(pod: Pod<'_>, member: PodIdentity<'_>, plan: &mut Plan) -> RuleDecision {
    let kind = member.kind.kind;
    // The kind Job of Volcano has a scheduler of its own, so that it does not get here.
    if !GROUPED_BY_KAI.contains(&kind) {
        let annotation = "newer versions read its annotation kai.scheduler/batch-min-member";
        let detail = match kind {
            "Job" => format!("Job: {annotation}"),
            // The pods of a TrainJob may be those of any JobSet.
            "JobSet" => format!("JobSet: {annotation}; if it belongs to a TrainJob, select another mode"),
            _ => format!("{kind}: select another mode"),
        };
        return RuleDecision::skipped(Reason::NotGroupedByKai).with_detail(detail);
    }
    let mut own = Plan::default();
    plan_scheduler(GangMode::Kai, pod, &mut own);
    let pointer = "/spec/schedulerName";
    let decision = if own.writes().is_empty() {
        RuleDecision::skipped(Reason::GangPresent).with_field(pointer)
    } else {
        plan_managed(plan, &mut own);
        plan.merge(own);
        RuleDecision::applied(Reason::GangJoined, pointer)
    };
    decision.with_detail("kai: its podgrouper creates the group").with_marker(marker(GangMode::Kai))
}
