//! Parsers, rules and decisions, tested in process: no test needs the binary, a socket or a cluster.
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
    reason = "tests fail by panicking, case tables own their values, and the modules belong to no library"
)]

mod checkpoint;
mod config;
mod corrupted_inputs;
mod corrupted_reviews;
mod diagnosis;
mod docs;
mod language;
mod lifecycle;
mod links;
mod lint;
mod manifest;
mod properties;
mod proxy_config;
mod rules;
mod verification;
mod yaml_output;
