//! What the webhook and the controller do to pods in a real cluster. Each test has a webhook of its own and namespaces of
//! its own: all of them run side by side.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

mod admission;
mod certificates;
mod corpus;
mod fabric;
