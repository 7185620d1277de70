//! The lint: every check with a pod in which it finds something and one in which it nearly does, what a configuration
//! changes, what a user of kubectl sees of it, and the command.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "a failed test says so by a panic, tables of cases own their values, and modules of tests are shared by path"
)]

#[path = "lint/admission.rs"]
mod admission;
#[path = "lint/catalogue.rs"]
mod catalogue;
#[path = "common/cli.rs"]
mod cli;
#[path = "lint/command.rs"]
mod command;
#[path = "lint/containers.rs"]
mod containers;
#[path = "common/ended.rs"]
mod ended;
#[path = "lint/environment.rs"]
mod environment;
#[path = "lint/pods.rs"]
mod pods;
#[path = "lint/sarif.rs"]
mod sarif;
#[path = "lint/world.rs"]
mod world;
