//! The webhook behind a real apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test admission
//! ```
//!
//! Each test registers a webhook of its own, in namespaces of its own. What the apiserver did is read from its audit
//! log, which names every webhook that it has asked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/load.rs"]
mod load;
#[path = "common/pods.rs"]
mod pods;
#[path = "common/webhook.rs"]
mod webhook;

#[path = "admission/answers.rs"]
mod answers;
#[path = "admission/drain.rs"]
mod drain;
#[path = "admission/faults.rs"]
mod faults;
#[path = "admission/liar.rs"]
mod liar;
#[path = "admission/live.rs"]
mod live;
#[path = "admission/order.rs"]
mod order;
#[path = "admission/relay.rs"]
mod relay;
#[path = "admission/reload.rs"]
mod reload;
#[path = "admission/rotation.rs"]
mod rotation;
#[path = "admission/seen.rs"]
mod seen;
#[path = "admission/selectors.rs"]
mod selectors;
#[path = "admission/traffic.rs"]
mod traffic;
