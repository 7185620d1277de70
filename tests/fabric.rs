//! Fabrics on a real cluster: the kubelet allocates devices, mounts and grants what the webhook has asked for.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test fabric
//! ```
//!
//! The devices do not exist: a device plugin of `tests/cluster` offers them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/webhook.rs"]
mod webhook;

#[path = "fabric/admission.rs"]
mod admission;
#[path = "fabric/devices.rs"]
mod devices;
#[path = "fabric/settings.rs"]
mod settings;
#[path = "fabric/trainer.rs"]
mod trainer;
