//! The `trainmesh` binary: installs the crypto provider and runs [`trainmesh::cli`].

use std::process::ExitCode;

/// The allocator of musl has one lock, and takes a quarter of the time of a review.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Fails only if a provider is already installed.
    #[cfg(feature = "cluster")]
    let _ = rustls::crypto::ring::default_provider().install_default();
    trainmesh::cli::main(std::env::args_os())
}
