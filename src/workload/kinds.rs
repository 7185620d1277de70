//! The list of kinds: one line each.

use super::Kind;

mod controller;
mod cronjob;
mod daemonset;
mod deployment;
mod job;
mod jobset;
mod leaderworkerset;
mod pod;
mod raycluster;
mod rayjob;
mod rayservice;
mod replicaset;
mod replicationcontroller;
mod statefulset;
mod volcano;

/// Every kind of workload that trainmesh knows. Where operators are stacked the outer one stands first, so that a pod
/// is recognised as the outermost (`TrainJob` before `JobSet` before `Job`).
pub static KINDS: &[&Kind] = &[
    &jobset::KIND,
    &leaderworkerset::KIND,
    &rayservice::KIND,
    &rayjob::KIND,
    &raycluster::KIND,
    &volcano::KIND,
    &cronjob::KIND,
    &job::KIND,
    &deployment::KIND,
    &replicaset::KIND,
    &replicationcontroller::KIND,
    &statefulset::KIND,
    &daemonset::KIND,
    &pod::KIND,
];
