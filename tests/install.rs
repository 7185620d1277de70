//! The chart in a real cluster, put there by Helm.
//!
//! ```text
//! tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
//!   cargo test --locked --features cluster-tests --test install
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

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/load.rs"]
mod load;
#[path = "common/pods.rs"]
mod pods;
#[path = "common/tls.rs"]
mod tls;

#[path = "install/cert_manager.rs"]
mod cert_manager;
#[path = "install/clock.rs"]
mod clock;
#[path = "install/continuity.rs"]
mod continuity;
#[path = "install/doctor.rs"]
mod doctor;
#[path = "install/life.rs"]
mod life;
#[path = "install/modes.rs"]
mod modes;
#[path = "install/namespace.rs"]
mod namespace;
#[path = "install/operator.rs"]
mod operator;
#[path = "install/policy.rs"]
mod policy;
#[path = "install/release.rs"]
mod release;
#[path = "install/render.rs"]
mod render;
#[path = "install/rights.rs"]
mod rights;
#[path = "install/served.rs"]
mod served;
