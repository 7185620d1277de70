//! Compares the pods that real controllers create for a workload with those that the preview shows.

pub mod case;
pub mod compare;

mod nondeterminism;
