//! What the tests share, with each other and with the fuzzer: texts and pods to start from, laws that hold for all of
//! them, and the program, the webhook, the controller and the cluster as a test sees them.
//!
//! Nothing here is shipped: only `dev-dependencies` name this package.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper fails its test by a panic, its name says what it does, and many a `new` starts something"
)]

pub mod apiserver;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod dice;
pub mod judge;
pub mod load;
pub mod mutations;
pub mod operators;
pub mod originals;
pub mod pods;
pub mod properties;
pub mod release;
pub mod review_law;
pub mod seeds;
pub mod snapshot;
pub mod texts;
pub mod tls;
pub mod webhook;

use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package lies in the repository")
}

/// The program under test, which Cargo has built before it runs the tests of the package at the root.
pub fn program() -> PathBuf {
    env::var_os("CARGO_BIN_EXE_trainmesh").expect("Cargo runs this test").into()
}

/// A folder for what tests build and download.
pub fn scratch() -> PathBuf {
    let folder = program().with_file_name("tests");
    std::fs::create_dir_all(&folder).expect("a folder beside the program");
    folder
}
