//! Errors of inputs.

use std::io;
use std::path::PathBuf;

/// Maximum number of files. Their names are held in memory: about 30 MB at 200 bytes each.
pub(super) const MAX_FILES: usize = 100_000;

/// Errors that prevent the inputs from being opened.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No path was given.
    #[error("no input: specify a file, a directory, or `-` for standard input")]
    None,
    /// Standard input was specified more than once.
    #[error("`-` is specified twice: standard input can only be read once")]
    StdinTwice,
    /// A URL instead of a path.
    #[error("`{0}` is a URL: download it, or pipe it to `-f -`")]
    Url(String),
    /// The path does not exist.
    #[error("`{0}` does not exist: check the path")]
    Missing(PathBuf),
    /// The directory contains no manifests.
    #[error("`{0}` contains no .yaml, .yml or .json file: specify the file, or use -R to include subdirectories")]
    EmptyDirectory(PathBuf),
    /// The directory and its subdirectories contain no manifests.
    #[error(
        "`{0}` and its subdirectories contain no .yaml, .yml or .json file, except in hidden and excluded directories"
    )]
    EmptyTree(PathBuf),
    /// Too many files.
    #[error("more than the limit of {MAX_FILES} files, in `{0}`: specify fewer directories")]
    TooManyFiles(PathBuf),
    /// The path cannot be read.
    #[error("cannot read `{0}`")]
    Unreadable(PathBuf, #[source] io::Error),
    /// The kustomization cannot be rendered.
    #[error("`{command}` failed: {cause}")]
    Kustomize {
        /// Command that renders it.
        command: String,
        /// Its error message.
        cause: String,
    },
    /// No program renders kustomizations.
    #[error("neither kubectl nor kustomize is on the PATH: install one of them, or pipe the manifests to `-f -`")]
    NoKustomize,
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
}
