//! Resolves command line paths to manifest sources.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trainmesh_core::manifest::{Document, DocumentError, Documents, LocatedDocument, Substitutions, locate};

use super::kustomize;
use super::source::{NOT_A_FILE, Source};

/// Path that denotes standard input.
const STDIN: &str = "-";

/// Extensions of manifests in a directory, as in kubectl. A file that is given explicitly can have any extension.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Maximum nesting of directories. It bounds the recursion into a directory that is bind-mounted into itself.
const MAX_DEPTH: usize = 64;

/// Maximum number of files. Their names are held in memory: about 30 MB at 200 bytes each.
const MAX_FILES: usize = 100_000;

/// Manifest sources of a command.
pub struct Inputs {
    sources: Vec<Source>,
    substitutions: Substitutions,
}

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

impl Inputs {
    /// Finds the sources of `paths`. `-` denotes `stdin`. Standard input and other pipes are read immediately.
    ///
    /// The manifests of a directory are read in the order of their names, with `recursive` also those of
    /// subdirectories. As in kubectl, hidden files are included and symbolic links to directories are not followed.
    /// Only regular files and links to them are read; any other file with the extension of a manifest is reported as an
    /// invalid document.
    pub fn open(paths: &[PathBuf], recursive: bool, stdin: impl Read) -> Result<Self, InputError> {
        let mut stdin = Some(stdin);
        let mut sources = Vec::new();
        for path in paths {
            if path.as_os_str() == STDIN {
                let pipe = stdin.take().ok_or(InputError::StdinTwice)?;
                sources.push(Source::spool("stdin", pipe).map_err(InputError::Stdin)?);
            } else {
                add(&mut sources, path, recursive)?;
            }
        }
        if sources.is_empty() { Err(InputError::None) } else { Ok(Self::new(sources)) }
    }

    /// Renders the kustomizations in `directories` with kubectl or kustomize.
    pub fn kustomize(directories: &[PathBuf]) -> Result<Self, InputError> {
        let sources = directories.iter().map(|directory| kustomize::render(directory));
        Ok(Self::new(sources.collect::<Result<_, _>>()?))
    }

    /// Sets the values that replace placeholders in the text.
    #[must_use]
    pub fn with_substitutions(self, substitutions: Substitutions) -> Self {
        Self { substitutions, ..self }
    }

    /// Returns the values that replace placeholders in the text.
    #[must_use]
    pub fn substitutions(&self) -> &Substitutions {
        &self.substitutions
    }

    /// Returns all objects, in the order of the input.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document, DocumentError>> + '_ {
        Documents::new(&self.sources, &[], &self.substitutions)
    }

    /// Returns the objects of documents whose text contains one of `filters`. Other documents are not parsed, which
    /// makes a search of all inputs cheap. The text is compared verbatim, without resolving escapes.
    pub fn documents_containing<'a>(
        &'a self,
        filters: &[&'a [u8]],
    ) -> impl Iterator<Item = Result<Document, DocumentError>> + 'a {
        Documents::new(&self.sources, filters, &self.substitutions)
    }

    /// Reads the documents that `wanted` selects by source and index, with the lines of their fields.
    pub fn locate(&self, wanted: impl Fn(&str, usize) -> bool, visit: impl FnMut(&str, usize, &LocatedDocument)) {
        locate(&self.sources, &self.substitutions, wanted, visit);
    }

    fn new(sources: Vec<Source>) -> Self {
        Self { sources, substitutions: Substitutions::default() }
    }
}

fn add(sources: &mut Vec<Source>, path: &Path, recursive: bool) -> Result<(), InputError> {
    let unreadable = |error| InputError::Unreadable(path.to_owned(), error);
    let metadata = fs::metadata(path).map_err(|error| path_error(path, error))?;
    if metadata.is_dir() {
        let before = sources.len();
        add_directory(sources, path, recursive.then_some(MAX_DEPTH))?;
        return if sources.len() == before { Err(InputError::EmptyDirectory(path.to_owned())) } else { Ok(()) };
    }
    let file = File::open(path).map_err(unreadable)?;
    sources.push(if metadata.is_file() {
        Source::file(path)
    } else {
        // A pipe such as `<(command)` can be read only once.
        Source::spool(&path.to_string_lossy(), file).map_err(unreadable)?
    });
    Ok(())
}

/// Adds the manifests of `directory` and, unless `levels` is `None`, of up to `levels` levels of subdirectories.
fn add_directory(sources: &mut Vec<Source>, directory: &Path, levels: Option<usize>) -> Result<(), InputError> {
    for path in entries(directory)? {
        // Inspects the entry, not its target, to prevent loops of symbolic links.
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            match levels {
                None => {}
                Some(0) => sources.push(Source::rejected(
                    &path,
                    format!("is nested deeper than the limit of {MAX_DEPTH} directories"),
                )),
                Some(levels) => match add_directory(sources, &path, Some(levels - 1)) {
                    Err(InputError::Unreadable(path, error)) => {
                        sources.push(Source::rejected(&path, format!("cannot be read: {error}")));
                    }
                    other => other?,
                },
            }
        } else if is_manifest(&path) {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(metadata) if metadata.is_file() => sources.push(Source::file(&path)),
                Ok(_) => sources.push(Source::rejected(&path, NOT_A_FILE)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    sources.push(Source::rejected(&path, "is a symbolic link to a file that does not exist"));
                }
                // The error is reported when the source is read.
                Err(_) => sources.push(Source::file(&path)),
            }
        }
        if sources.len() > MAX_FILES {
            return Err(InputError::TooManyFiles(directory.to_owned()));
        }
    }
    Ok(())
}

/// Returns the paths in `directory`, sorted.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = |error| InputError::Unreadable(directory.to_owned(), error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
        if paths.len() > MAX_FILES {
            return Err(InputError::TooManyFiles(directory.to_owned()));
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
}

/// Converts the error of a failed access to `path`.
fn path_error(path: &Path, error: io::Error) -> InputError {
    let text = path.to_string_lossy();
    if text.starts_with("https://") || text.starts_with("http://") {
        InputError::Url(text.into_owned())
    } else if error.kind() == io::ErrorKind::NotFound {
        InputError::Missing(path.to_owned())
    } else {
        InputError::Unreadable(path.to_owned(), error)
    }
}
