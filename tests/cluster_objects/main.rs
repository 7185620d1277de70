//! Tests that need the apiserver but create no pods: the objects of an installation, and its lease.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_objects
//! ```
//!
//! These do not run along with tests that create pods: a webhook configuration of `doctor` matches the whole cluster,
//! and elections have timeouts of seconds that a busy machine misses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod doctor;
mod lease;
