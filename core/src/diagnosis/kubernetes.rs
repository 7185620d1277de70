//! Checks of pods, nodes, schedulers and queues.

mod absent;
mod accelerators;
mod claims;
mod completed_early;
mod crash;
mod creation;
mod deadlock;
mod declared_gang;
mod disruption;
mod ended;
mod failure;
mod gates;
mod missing;
mod node;
mod not_started;
mod pod_group;
mod processes;
mod queue;
mod scheduling;
mod start;

use super::context::{Context, JobCheck};
use super::{Diagnosis, job::Job};

/// The checks of one workload.
const JOB_CHECKS: [JobCheck; 17] = [
    start::check_images,
    start::check_creation,
    not_started::check,
    crash::check_crash_loops,
    crash::check_memory,
    failure::check,
    completed_early::check,
    processes::check,
    scheduling::check,
    creation::check,
    missing::check,
    node::check,
    disruption::check,
    accelerators::check,
    queue::check,
    ended::check,
    absent::check,
];

/// Checks a workload.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    for check in JOB_CHECKS {
        check(job, context, found);
    }
}

/// Checks the relations between workloads.
pub(super) fn check_cluster(context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    deadlock::check(context, found);
    pod_group::check(context, found);
    declared_gang::check(context, found);
}
