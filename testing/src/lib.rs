//! Fixtures that the integration tests, the benchmarks and the fuzzer share: generated inputs, the invariants that they
//! must satisfy, and drivers for the binary, the webhook, the controller and the test cluster.
//!
//! Only `dev-dependencies` use this crate; nothing here is shipped.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::new_without_default,
    clippy::panic,
    clippy::unwrap_used,
    reason = "fixtures fail their test by panicking, their names document them, and many constructors start processes"
)]

pub mod apiserver;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod example_pods;
pub mod istio;
pub mod load;
pub mod marks;
pub mod mutations;
pub mod operators;
pub mod oracle;
pub mod pods;
pub mod prometheus;
pub mod properties;
pub mod ras;
pub mod release;
pub mod review_invariants;
pub mod rng;
pub mod seeds;
pub mod snapshot;
pub mod texts;
pub mod tls;
pub mod torch;
pub mod webhook;

use std::env;
use std::path::{Path, PathBuf};

/// Returns the root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is a folder of the repository")
}

/// Returns the path of the binary under test, which Cargo builds before it runs the tests of the root package.
pub fn program() -> PathBuf {
    env::var_os("CARGO_BIN_EXE_trainmesh").expect("Cargo sets CARGO_BIN_EXE_trainmesh for integration tests").into()
}

/// Returns a folder for files that tests build or download, and creates it if needed.
pub fn scratch() -> PathBuf {
    let folder = program().with_file_name("tests");
    std::fs::create_dir_all(&folder).expect("create a folder next to the binary");
    folder
}
