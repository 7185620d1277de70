//! The list of kinds: one line and one file each. Two files hold what kinds have in common by their origin:
//! `training_operator` and `mpi`.

use super::Kind;

mod cronjob;
mod daemonset;
pub(super) mod deployment;
mod jaxjob;
pub(super) mod job;
pub(super) mod jobset;
pub(super) mod leaderworkerset;
mod mpi;
mod mpijob_v1;
mod mpijob_v2beta1;
mod paddlejob;
mod pod;
mod pytorchjob;
pub(super) mod raycluster;
pub(super) mod rayjob;
mod rayservice;
mod replicaset;
mod replicationcontroller;
pub(super) mod statefulset;
mod tfjob;
pub(super) mod training_operator;
pub(super) mod trainjob;
pub(super) mod volcano;
mod xgboostjob;

/// Every kind of workload that trainmesh knows. Where operators are stacked the outer one stands first, so that a pod
/// is recognised as the outermost (`TrainJob` before `JobSet` before `Job`).
pub static KINDS: &[&Kind] = &[
    &trainjob::KIND,
    &pytorchjob::KIND,
    &tfjob::KIND,
    &xgboostjob::KIND,
    &paddlejob::KIND,
    &jaxjob::KIND,
    &mpijob_v1::KIND,
    &mpijob_v2beta1::KIND,
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
