//! All workload kinds, one file each. `training_operator` and `mpi` contain the shared code of related kinds.

use super::WorkloadKind;

mod appwrapper;
mod cronjob;
mod daemonset;
mod deployment;
mod elasticjob;
mod hyperpodpytorchjob;
mod jaxjob;
mod job;
mod jobset;
mod leaderworkerset;
mod mpi;
mod mpijob_v1;
mod mpijob_v2beta1;
mod paddlejob;
mod pod;
mod podcliqueset;
mod pytorchjob;
mod raycluster;
mod rayjob;
mod rayservice;
mod replicaset;
mod replicationcontroller;
mod statefulset;
mod tfjob;
mod training_operator;
pub(super) mod trainjob;
mod volcano;
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
