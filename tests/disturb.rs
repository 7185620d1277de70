//! What holds while parts of the cluster itself end and come back.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test disturb -- --test-threads=1
//! ```
//!
//! Whatever else runs on the cluster is disturbed too: these tests run alone, one after another, and `tests/run` has
//! them last. A part is ended by [`Cluster::stop`](cluster::Cluster::stop), which has it back whatever happens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/controller.rs"]
mod controller;
#[path = "common/load.rs"]
mod load;
#[path = "common/pods.rs"]
mod pods;
#[path = "common/webhook.rs"]
mod webhook;

#[path = "disturb/admission_configuration.rs"]
mod admission_configuration;
#[path = "disturb/apiserver.rs"]
mod apiserver;
#[allow(dead_code, reason = "the target `install` uses all of it")]
#[path = "install/doctor.rs"]
mod doctor;
#[path = "disturb/outage.rs"]
mod outage;
#[allow(dead_code, reason = "the target `install` uses all of it")]
#[path = "install/release.rs"]
mod release;
