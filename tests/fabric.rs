//! Fabrics in a real cluster: what the kubelet gives to a pod that names one, what the webhook learns of the cluster, and
//! how the pods of a job stay alike.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test fabric
//! ```
//!
//! Each test has a webhook, and where it needs one a controller, of its own (`fabric/world.rs`). The devices do not exist: a
//! device plugin of `tests/cluster` offers them.

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

#[path = "fabric/admission.rs"]
mod admission;
#[path = "fabric/devices.rs"]
mod devices;
#[path = "fabric/facts.rs"]
mod facts;
#[path = "fabric/pins.rs"]
mod pins;
#[path = "fabric/profiles.rs"]
mod profiles;
#[path = "fabric/settings.rs"]
mod settings;
#[path = "fabric/trainer.rs"]
mod trainer;
#[path = "fabric/world.rs"]
mod world;
