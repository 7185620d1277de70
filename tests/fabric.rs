//! Fabrics in a real cluster: what the webhook learns of it, and how the pods of a job stay alike.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test fabric
//! ```
//!
//! Each test has a webhook, and where it needs one a controller, of its own (`fabric/world.rs`). The pods wait for GPUs that
//! no node has: a fabric is given when they are created.

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
#[path = "common/webhook.rs"]
mod webhook;

#[path = "fabric/facts.rs"]
mod facts;
#[path = "fabric/pins.rs"]
mod pins;
#[path = "fabric/world.rs"]
mod world;
