//! The `trainmesh` binary: installs the crypto provider and runs [`trainmesh::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    // Fails only if a provider is already installed.
    #[cfg(feature = "cluster")]
    let _ = rustls::crypto::ring::default_provider().install_default();
    trainmesh::cli::main(std::env::args_os())
}
