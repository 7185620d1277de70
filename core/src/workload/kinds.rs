//! All workload kinds, one file each. `training_operator` and `mpi` contain the shared code of related kinds.

use super::WorkloadKind;

mod appwrapper;
mod cronjob;
mod daemonset;
pub(super) mod deployment;
pub(super) mod elasticjob;
pub(super) mod hyperpodpytorchjob;
mod jaxjob;
pub(super) mod job;
pub(super) mod jobset;
pub(super) mod leaderworkerset;
mod mpi;
mod mpijob_v1;
mod mpijob_v2beta1;
mod paddlejob;
mod pod;
pub(super) mod podcliqueset;
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

/// Supported workload kinds. Owners precede the kinds that they create, so that a pod is identified as part of the
/// outermost workload (`TrainJob` before `JobSet` before `Job`).
pub static KINDS: &[&WorkloadKind] = &[
    &appwrapper::KIND,
    &trainjob::KIND,
    &pytorchjob::KIND,
    &tfjob::KIND,
    &xgboostjob::KIND,
    &paddlejob::KIND,
    &jaxjob::KIND,
    &mpijob_v1::KIND,
    &mpijob_v2beta1::KIND,
    &hyperpodpytorchjob::KIND,
    &elasticjob::KIND,
    &podcliqueset::KIND,
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
