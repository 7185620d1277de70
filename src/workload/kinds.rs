//! The list of kinds: one line each.

use super::Kind;

#[cfg(test)]
mod examples;
mod jaxjob;
mod mpijob_v1;
mod mpijob_v2beta1;
mod paddlejob;
mod pod;
mod pytorchjob;
mod tfjob;
mod training_operator;
mod trainjob;
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
    &pod::KIND,
];
