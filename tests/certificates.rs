//! Certificates in a real cluster: made by the rotation, served by the webhook, trusted by the apiserver.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test certificates
//! ```
//!
//! Each test has a namespace with Secrets, a Service and a registration of its own. The rotation runs in the test's own
//! process, so that it can be ended between any two of its writes.

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

#[path = "certificates/continuity.rs"]
mod continuity;
#[path = "certificates/harm.rs"]
mod harm;
#[path = "certificates/installation.rs"]
mod installation;
#[path = "certificates/leader.rs"]
mod leader;
#[path = "certificates/ownership.rs"]
mod ownership;
#[path = "certificates/replica.rs"]
mod replica;
#[path = "certificates/rights.rs"]
mod rights;
#[path = "certificates/witness.rs"]
mod witness;
