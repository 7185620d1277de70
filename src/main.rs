//! The `trainmesh` binary: installs the crypto provider, hands the arguments to [`trainmesh::cli`] and its exit code to
//! the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The first one stays: there is no other to lose against.
    #[cfg(feature = "cluster")]
    let _ = rustls::crypto::ring::default_provider().install_default();
    trainmesh::cli::main(std::env::args_os())
}
