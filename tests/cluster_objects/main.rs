//! What needs the apiserver, but makes no pods: the objects of an installation, and the lease of its leader.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_objects
//! ```
//!
//! These do not run beside tests that make pods: a registration of `doctor` is for the whole cluster, and an election takes
//! seconds that a busy machine does not keep to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed test says so by a panic")]

mod doctor;
mod lease;
