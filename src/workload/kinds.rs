//! The list of kinds: one line each.

use super::Kind;

mod pod;

/// Every kind of workload that trainmesh knows. Where operators are stacked the outer one stands first, so that a pod
/// is recognised as the outermost (`TrainJob` before `JobSet` before `Job`).
pub static KINDS: &[&Kind] = &[&pod::KIND];
