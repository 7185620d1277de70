//! The program as a person, a script or a pipe meets it. No cluster is needed.
//!
//! ```text
//! cargo test --test cli
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "a failed test says so by a panic, tables of cases own their values, and the parts are of no library"
)]

mod certs;
mod commands;
mod fabric;
mod golden;
mod installation;
mod lint;
mod terminal;
