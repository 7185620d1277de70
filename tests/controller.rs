//! The controller beside a real kubelet: real containers end, real proxies are ended, in an image without a shell.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test controller
//! ```
//!
//! Each test has a group of pods and controllers of its own (`common/controller.rs`). Nothing here waits for a fixed time;
//! where something must *not* happen, the test waits for what would have made it happen and for a time that is long
//! against the settle window.

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

#[path = "controller/helpers.rs"]
mod helpers;
#[path = "controller/jobs.rs"]
mod jobs;
#[path = "controller/ladder.rs"]
mod ladder;
#[path = "controller/lifecycles.rs"]
mod lifecycles;
#[path = "controller/missed.rs"]
mod missed;
#[path = "controller/outage.rs"]
mod outage;
#[path = "controller/scope.rs"]
mod scope;
#[path = "controller/sweep.rs"]
mod sweep;
#[path = "controller/table.rs"]
mod table;
#[path = "controller/world.rs"]
mod world;
