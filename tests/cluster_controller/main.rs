//! The controller beside a real kubelet: real containers end, real proxies are ended, in an image without a shell.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_controller
//! ```
//!
//! Each test has a group of pods and controllers of its own (`trainmesh_testing::controller`). Nothing here waits for a fixed time;
//! where something must *not* happen, the test waits for what would have made it happen and for a time that is long
//! against the settle window.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

mod helpers;
mod jobs;
mod ladder;
mod lifecycles;
mod missed;
mod outage;
mod scope;
mod sweep;
mod table;
mod world;
