//! A hostile tenant beside a namespace whose jobs must not notice it.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test attacks -- --nocapture
//! ```
//!
//! The tenant has the `ClusterRole` `edit` in its own namespace and can reach the ports of every replica, nothing more. Each
//! test runs one attack for some seconds while the neighbor creates pods and jobs, and then checks the same: every pod was
//! patched, every job completed, every probe was answered, no replica restarted, and none exceeded its memory. `mixed` runs
//! several at once, for as long as `ATTACK_SECONDS` says.
//!
//! `TRAINMESH_PROGRAM` names another program to install: `make test` passes an optimized one, `make attack` the shipped one.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "a failed test panics; no library exports these modules, some of which other targets share"
)]

#[path = "common/webhook/call.rs"]
mod call;
#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/load.rs"]
mod load;
#[path = "common/pods.rs"]
mod pods;
#[path = "install/release.rs"]
mod release;
#[path = "common/controller/seen.rs"]
mod seen;

#[path = "attacks/connections.rs"]
mod connections;
#[path = "attacks/fixture.rs"]
mod fixture;
#[path = "attacks/flood.rs"]
mod flood;
#[path = "attacks/hostile.rs"]
mod hostile;
#[path = "attacks/mixed.rs"]
mod mixed;
#[path = "attacks/neighbor.rs"]
mod neighbor;
#[path = "attacks/network.rs"]
mod network;
#[path = "attacks/objects.rs"]
mod objects;
#[path = "attacks/observer.rs"]
mod observer;
#[path = "attacks/replica.rs"]
mod replica;
#[path = "attacks/report.rs"]
mod report;
#[path = "attacks/reviews.rs"]
mod reviews;
#[path = "attacks/tenant.rs"]
mod tenant;
