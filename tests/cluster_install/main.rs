//! The chart in a real cluster, installed by Helm.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart prometheus -- \
//!   cargo test --locked --features cluster-tests --test cluster_install
//! ```
//!
//! The chart's names are fixed and some of its objects are cluster-scoped, so that only one release exists at a time.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod cert_manager;
mod certificates;
mod clock;
mod continuity;
mod lifecycle;
mod metrics;
mod modes;
mod namespace;
mod operator;
mod policy;
mod previous;
mod rbac;
mod render;
