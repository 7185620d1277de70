//! The webhook and the controller in a real cluster. Each test has its own webhook and namespaces, so that all run in
//! parallel.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_admission
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod admission;
mod certificates;
mod corpus;
mod fabric;
