//! Gangs that wait for the accelerators of each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnosis::context::Context;
use crate::diagnosis::job::{Job, is_older};
use crate::diagnosis::snapshot::condition::ConditionRecord;
use crate::diagnosis::snapshot::pod::PodRecord;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};
use crate::names::join_names;

use super::scheduling::{GRACE, is_partly_scheduled, unscheduled};

/// Reports partly scheduled jobs that request the same resource, if no other accelerators are free.
pub(super) fn check(context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    let partial: Vec<&Job<'_>> = context.jobs.iter().filter(|job| is_partly_scheduled(job, context)).collect();
    if partial.len() < 2 || context.snapshot.nodes.is_empty() {
        return;
    }
    let free = free_accelerators(context);
    let resources: BTreeSet<&str> = free.keys().copied().collect();
    for resource in resources {
        let free = free.get(resource).copied().unwrap_or_default();
        let deadlocked: Vec<&&Job<'_>> = partial.iter().filter(|job| is_stuck(job, resource, free, context)).collect();
        let Some(first) = deadlocked.first().filter(|_| deadlocked.len() > 1) else { continue };
        let names = join_names(deadlocked.iter().map(|job| job.workload_name()));
        let message = format!("{names} each hold {resource} and wait for more; {free} are free");
        let evidence = deadlocked.iter().map(|job| {
            let (held, needed) = (sum(job.active().filter(|pod| pod.is_scheduled()), resource), need(job, resource));
            let value = format!("holds {held}, waits for {needed}");
            Evidence::new(job.workload_name().to_string(), format!("requests of {resource}"), &value, None)
        });
        let scheduled = deadlocked.iter().flat_map(|job| job.active()).collect::<Vec<_>>();
        let waste = deadlocked.iter().filter_map(|job| job.waste(&scheduled, None, context.now));
        let waste = waste.reduce(|mut sum, next| {
            sum.accelerators = sum.accelerators.saturating_add(next.accelerators);
            sum.accelerator_seconds = sum.accelerator_seconds.saturating_add(next.accelerator_seconds);
            sum
        });
        let code = DiagnosisCode::GangsDeadlocked;
        let diagnosis = Diagnosis::new(code, first.workload_name(), Recovery::Deadlocked, &message);
        found.push(diagnosis.with_evidence(evidence).with_waste(waste));
    }
}

/// Returns true if a job holds accelerators, needs more than are free, and has made no progress lately.
fn is_stuck(job: &Job<'_>, resource: &str, free: u64, context: &Context<'_>) -> bool {
    let holds = sum(job.active().filter(|pod| pod.is_scheduled()), resource) > 0;
    let progresses = job.active().any(|pod| {
        let scheduled = pod.condition("PodScheduled").filter(|condition| condition.is_true());
        scheduled.is_some_and(|condition| !is_older(condition.since, GRACE, context.now))
    });
    holds && need(job, resource) > free && !progresses
}

fn need(job: &Job<'_>, resource: &str) -> u64 {
    sum(unscheduled(job), resource)
}

fn sum<'a>(pods: impl Iterator<Item = &'a PodRecord>, resource: &str) -> u64 {
    let containers = pods.flat_map(|pod| &pod.containers);
    let requests = containers.filter(|container| container.resource.as_deref() == Some(resource));
    requests.fold(0, |sum, container| sum.saturating_add(container.accelerators))
}

/// Returns the free accelerators of all nodes to which pods can be scheduled, by resource.
fn free_accelerators<'a>(context: &Context<'a>) -> BTreeMap<&'a str, u64> {
    let mut free: BTreeMap<&str, u64> = BTreeMap::new();
    for node in &context.snapshot.nodes {
        for (resource, allocatable) in &node.accelerators {
            let pods = context.pods_of_node(&node.name).iter().copied().filter(|pod| !pod.is_finished());
            let is_usable = !node.unschedulable && node.ready().is_none_or(ConditionRecord::is_true);
            let available = if is_usable { allocatable.saturating_sub(sum(pods, resource)) } else { 0 };
            let total = free.entry(&**resource).or_default();
            *total = total.saturating_add(available);
        }
    }
    free
}
