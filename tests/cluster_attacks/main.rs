//! A hostile tenant next to a namespace whose jobs must not be affected.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test cluster_attacks -- --nocapture
//! ```
//!
//! The tenant has the `ClusterRole` `edit` in its own namespace and can reach the ports of every replica, nothing more.
//! Each test runs one attack for some seconds while the neighbor creates pods and jobs, and then checks that every pod
//! was patched, every job completed, every probe succeeded, no replica restarted, and none exceeded its memory. `mixed`
//! runs several attacks at once. `ATTACK_SECONDS` sets the duration.
//!
//! `TRAINMESH_PROGRAM` names another binary to install: `make test` passes an optimized one, `make attack` the shipped
//! one.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod connections;
mod fixture;
mod flood;
mod hostile;
mod mixed;
mod neighbor;
mod network;
mod objects;
mod observer;
mod replica;
mod report;
mod reviews;
mod tenant;
