//! Checks of the process group of a PyTorch job: its settings, the address of its master or store, and members that
//! restarted alone.
//!
//! Two kinds of groups fail differently. The members of a static group connect once to the store in rank 0: a member
//! that restarts is alone until its peers restart too. The agents of torchrun with a dynamic rendezvous (c10d, etcd) form a new
//! group when a member leaves or joins, as long as their store exists.

mod address;
mod agent;
mod group;
mod members;
mod reachability;
mod restart;
mod settings;
mod shared;
mod start;
mod store;

use super::Diagnosis;
use super::context::Context;
use super::job::Job;
use group::{Backend, Group};

/// Checks a workload.
pub(super) fn check_job(job: &Job<'_>, context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    agent::check(job, found);
    let Some(group) = Group::new(job) else { return };
    let differing = settings::differing(job, &group, context);
    // A wrong address is one cause, not two.
    let has_one_address = differing.is_none();
    found.extend(differing);
    members::check(job, &group, context, found);
    start::check(job, &group, context, found);
    if group.backend != Backend::Static {
        store::check_url(job, &group, context, found);
    }
    match group.backend {
        Backend::Static => restart::check(job, &group, context, found),
        Backend::C10d => store::check_host(job, &group, context, found),
        Backend::Etcd => store::check_etcd(job, &group, context, found),
    }
    if has_one_address && group.backend != Backend::Etcd {
        reachability::check(job, &group, context, found);
    }
}

/// Checks the relations between workloads.
pub(super) fn check_cluster(context: &Context<'_>, found: &mut Vec<Diagnosis>) {
    shared::check(context, found);
}
