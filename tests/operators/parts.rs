//! What the tests of operators are made of.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a failed test says so by a panic; the parts are of no library"
)]

#[path = "case.rs"]
pub mod case;
#[path = "chance.rs"]
pub mod chance;
#[path = "../common/cluster.rs"]
pub mod cluster;
#[path = "compare.rs"]
pub mod compare;
#[path = "../common/webhook.rs"]
pub mod webhook;
