//! What holds while parts of the cluster itself end and come back.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test cluster_disturb -- --test-threads=1
//! ```
//!
//! Whatever else runs on the cluster is disturbed too: these tests run alone, one after another, and `tests/run` has
//! them last. A part is ended by [`Cluster::stop`](trainmesh_testing::cluster::Cluster::stop), which has it back whatever happens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

mod admission_configuration;
mod apiserver;
mod outage;
