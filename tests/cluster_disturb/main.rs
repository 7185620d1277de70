//! Behavior while components of the cluster itself stop and restart.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test cluster_disturb -- --test-threads=1
//! ```
//!
//! These tests affect everything else on the cluster, so they run alone, one after another; `tests/run` runs them last.
//! [`Cluster::stop`](trainmesh_testing::cluster::Cluster::stop) stops a component and restarts it whatever happens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod admission_configuration;
mod apiserver;
mod outage;
