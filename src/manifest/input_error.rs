//! Errors of inputs.

use std::io;
use std::path::PathBuf;

use super::source::{STDIN_NAME, Source};

/// Maximum number of files. Their names are held in memory: about 30 MB at 200 bytes each.
pub(super) const MAX_FILES: usize = 100_000;

const URL: &str = "is a URL: download it, or pipe it to `-f -`";
pub(super) const MISSING: &str = "does not exist: check the path";
const EMPTY_DIRECTORY: &str =
    "contains no .yaml, .yml or .json file: specify the file, or use -R to include subdirectories";
const EXCLUDED: &str = "contains no .yaml, .yml or .json file that --exclude leaves: change its patterns";
const EMPTY_TREE: &str =
    "contains no .yaml, .yml or .json file, also in its subdirectories, except in hidden and excluded ones";

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
    #[error("`{0}` {URL}")]
    Url(String),
    /// The path does not exist.
    #[error("`{0}` {MISSING}")]
    Missing(PathBuf),
    /// The directory contains no manifests.
    #[error("`{0}` {EMPTY_DIRECTORY}")]
    EmptyDirectory(PathBuf),
    /// All manifests of the directory are excluded.
    #[error("`{0}` {EXCLUDED}")]
    Excluded(PathBuf),
    /// The directory and its subdirectories contain no manifests.
    #[error("`{0}` {EMPTY_TREE}")]
    EmptyTree(PathBuf),
    /// Too many files.
    #[error("more than the limit of {MAX_FILES} files, in `{0}`: specify fewer directories")]
    TooManyFiles(PathBuf),
    /// The path cannot be read.
    #[error("cannot read `{0}`")]
    Unreadable(PathBuf, #[source] io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
}

impl InputError {
    /// Converts the error of one path to a source that cannot be read, so that all other sources are still read. Returns an error of
    /// the whole input.
    pub(super) fn into_source(self) -> Result<Source, Self> {
        let cannot_be_read = |error: io::Error| format!("cannot be read: {error}");
        let (path, message) = match self {
            Self::Url(url) => (PathBuf::from(url), URL.to_owned()),
            Self::Missing(path) => (path, MISSING.to_owned()),
            Self::EmptyDirectory(path) => (path, EMPTY_DIRECTORY.to_owned()),
            Self::Excluded(path) => (path, EXCLUDED.to_owned()),
            Self::EmptyTree(path) => (path, EMPTY_TREE.to_owned()),
            Self::Unreadable(path, error) => (path, cannot_be_read(error)),
            Self::Stdin(error) => (PathBuf::from(STDIN_NAME), cannot_be_read(error)),
            Self::None | Self::StdinTwice | Self::TooManyFiles(_) => return Err(self),
        };
        Ok(Source::rejected(&path, message))
    }
}
