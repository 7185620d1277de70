//! From the paths of a command line to the sources that they stand for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trainmesh_core::manifest::{Document, DocumentError, Documents};

use super::source::{NOT_A_FILE, Source};

/// The path that stands for standard input.
const STDIN: &str = "-";

/// What kubectl takes for a manifest in a directory; a file that is named itself may be called anything.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Levels of folders: no repository of manifests nests deeper, and a bind mount of a folder into itself must end.
const MAX_FOLDERS: usize = 64;

/// Files of all folders: a name of 200 bytes each is held, so some 30 MB.
const MAX_FILES: usize = 100_000;

/// All that a command was given to read.
pub struct Inputs {
    sources: Vec<Source>,
}

/// Why the inputs cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No path was given.
    #[error("no input: give a file, a directory, or `-` for standard input")]
    None,
    /// Standard input was named more than once.
    #[error("`-` is given twice: standard input can be read once")]
    StdinTwice,
    /// A URL instead of a path.
    #[error("`{0}` is a URL: download it, or pipe it to `-f -`")]
    Url(String),
    /// The path leads nowhere.
    #[error("`{0}` does not exist: check the path")]
    Missing(PathBuf),
    /// A directory in which nothing looks like a manifest.
    #[error(
        "`{0}` holds no file that ends in .yaml, .yml or .json: name the file itself, or use -R for sub-directories"
    )]
    EmptyDirectory(PathBuf),
    /// More files than anybody means to read.
    #[error("more than the limit of {MAX_FILES} files, at `{0}`: name fewer folders")]
    TooManyFiles(PathBuf),
    /// The path cannot be read.
    #[error("cannot read `{0}`")]
    Unreadable(PathBuf, #[source] io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
}

impl Inputs {
    /// Finds the sources; `-` is `stdin`, which is read here, as is every other pipe.
    ///
    /// Of a directory, the manifests in the order of their names, with `recursive` those of its directories too. As
    /// kubectl does, hidden files count and links to directories are not followed. In a directory only regular files are
    /// read, and links to them; what else is called like a manifest is an error in its place among the documents.
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
        if sources.is_empty() { Err(InputError::None) } else { Ok(Self { sources }) }
    }

    /// All objects, in the order of the input.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document, DocumentError>> + '_ {
        Documents::new(&self.sources, &[])
    }

    /// The objects of those documents whose text contains one of `words`; the others are not parsed, which makes a
    /// search through all inputs cheap. A document that spells a word with escapes is not found.
    pub fn documents_mentioning<'a>(
        &'a self,
        words: &[&'a [u8]],
    ) -> impl Iterator<Item = Result<Document, DocumentError>> + 'a {
        Documents::new(&self.sources, words)
    }
}

fn add(sources: &mut Vec<Source>, path: &Path, recursive: bool) -> Result<(), InputError> {
    let unreadable = |error| InputError::Unreadable(path.to_owned(), error);
    let metadata = fs::metadata(path).map_err(|error| missing(path, error))?;
    if metadata.is_dir() {
        let before = sources.len();
        add_directory(sources, path, recursive.then_some(MAX_FOLDERS))?;
        return if sources.len() == before { Err(InputError::EmptyDirectory(path.to_owned())) } else { Ok(()) };
    }
    let file = File::open(path).map_err(unreadable)?;
    sources.push(if metadata.is_file() {
        Source::file(path)
    } else {
        // Such as `<(command)`: gone once it is read.
        Source::spool(&path.to_string_lossy(), file).map_err(unreadable)?
    });
    Ok(())
}

/// Adds the manifests of `directory`, and those of the directories below it, to `levels` if at all.
fn add_directory(sources: &mut Vec<Source>, directory: &Path, levels: Option<usize>) -> Result<(), InputError> {
    for path in entries(directory)? {
        // Asked of the entry itself, not of its target: a loop of links cannot be entered.
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            match levels {
                None => {}
                Some(0) => sources
                    .push(Source::rejected(&path, format!("is nested deeper than the limit of {MAX_FOLDERS} folders"))),
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
                    sources.push(Source::rejected(&path, "is a link to a file that does not exist"));
                }
                // The reader reports the cause.
                Err(_) => sources.push(Source::file(&path)),
            }
        }
        if sources.len() > MAX_FILES {
            return Err(InputError::TooManyFiles(directory.to_owned()));
        }
    }
    Ok(())
}

/// The paths in `directory`, sorted.
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

fn missing(path: &Path, error: io::Error) -> InputError {
    let text = path.to_string_lossy();
    if text.starts_with("https://") || text.starts_with("http://") {
        InputError::Url(text.into_owned())
    } else if error.kind() == io::ErrorKind::NotFound {
        InputError::Missing(path.to_owned())
    } else {
        InputError::Unreadable(path.to_owned(), error)
    }
}
