//! What is read and decided, from texts and values alone: no test needs the program, a socket or a cluster.
//!
//! ```text
//! cargo test --test unit
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "a failed test says so by a panic, tables of cases own their values, and the parts are of no library"
)]

mod config;
mod damaged_texts;
mod docs;
mod lifecycle;
mod lint;
mod manifest;
mod properties;
mod proxy_config;
mod review_bytes;
mod rules;
mod yaml_output;
