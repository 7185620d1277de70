//! The controller with a real kubelet: real containers exit, and real proxies, in an image without a shell, are
//! terminated.
//!
//! ```text
//! tests/cluster/cluster exec -- cargo test --locked --features cluster-tests --test cluster_controller
//! ```
//!
//! Each test has its own group of pods and controllers (`trainmesh_testing::controller`). No test relies on fixed
//! sleeps; where something must *not* happen, the test waits for what would have caused it, and then for much longer
//! than the stabilization window.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "tests fail by panicking; the modules belong to no library"
)]

mod diagnosis;
mod fixture;
mod jobs;
mod lifecycles;
mod methods;
mod missed;
mod outage;
mod ras;
mod refused;
mod scope;
mod sidecars;
mod sweep;
mod table;
