//! The `trainmesh` binary: hands the arguments to [`trainmesh::cli`] and its exit code to the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    trainmesh::cli::main(std::env::args_os())
}
