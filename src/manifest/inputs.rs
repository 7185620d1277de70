//! From the paths of a command line to the sources that they stand for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::reader::Documents;
use super::source::Source;
use super::{Document, DocumentError};

/// The path that stands for standard input.
const STDIN: &str = "-";

/// What kubectl takes for a manifest in a directory; a file that is named itself may be called anything.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

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
    /// kubectl does, hidden files count and links to directories are not followed.
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
        add_directory(sources, path, recursive)?;
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

fn add_directory(sources: &mut Vec<Source>, directory: &Path, recursive: bool) -> Result<(), InputError> {
    let unreadable = |error| InputError::Unreadable(directory.to_owned(), error);
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(unreadable)?;
    let mut paths = entries.iter().map(fs::DirEntry::path).collect::<Vec<_>>();
    paths.sort();
    for path in paths {
        // Asked of the entry itself, not of what it links to: a loop of links cannot be entered.
        if path.symlink_metadata().map_err(unreadable)?.is_dir() {
            if recursive {
                add_directory(sources, &path, recursive)?;
            }
        } else if is_manifest(&path) && !path.is_dir() {
            add(sources, &path, recursive)?;
        }
    }
    Ok(())
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
