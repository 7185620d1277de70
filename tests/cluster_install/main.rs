//! The chart in a real cluster, put there by Helm.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test cluster_install
//! ```
//!
//! Its names are fixed and some of its objects belong to the whole cluster: one release at a time.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

mod cert_manager;
mod clock;
mod continuity;
mod life;
mod modes;
mod namespace;
mod operator;
mod policy;
mod render;
mod rights;
mod served;
