//! Gang scheduling with real schedulers: the pods of a job are placed all together or not at all, and none waits
//! indefinitely.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_gangs -- --test-threads=1
//! ```
//!
//! One at a time, because each test has its own controller, which manages the gangs of all namespaces. Capacity is limited by an
//! extended resource of the node.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod apis;
mod burst;
mod disturbances;
mod fixture;
mod kinds;
mod kueue;
mod matrix;
mod pins;
mod placement;
mod preview;
mod scheduler;
mod templates;
