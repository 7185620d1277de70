//! Resolves command line paths to manifest sources.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::iter;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trainmesh_core::manifest::{
    Collector, Document, DocumentError, Documents, ObjectResult, Origin, Part, Parts, Source as _, Substitutions,
};

use super::directory::Directory;
use super::input_error::InputError;
use super::kustomize;
use super::kustomize_origins::KustomizeOrigins;
use super::parallel::{Limits, map_in_order};
use super::paths::identity;
use super::pattern::Pattern;
use super::source::{STDIN_NAME, Source};

/// Path that denotes standard input.
const STDIN: &str = "-";
/// Size of a part of the input beyond its text, in bytes. It limits the number of files that are read ahead.
const PART_OVERHEAD: usize = 256;

/// Manifest sources of a command.
pub struct Inputs {
    sources: Vec<Source>,
    substitutions: Arc<Substitutions>,
    /// Files of rendered kustomizations, by the names of their sources.
    kustomize: BTreeMap<Arc<str>, KustomizeOrigins>,
}

impl Inputs {
    /// Finds the sources of `paths`. `-` denotes `stdin`. Standard input and other pipes are read immediately.
    ///
    /// The manifests of a directory are read in the order of their names, with `recursive` also those of
    /// subdirectories. As in kubectl, hidden files are included and symbolic links to directories are not followed.
    /// Only regular files and links to them are read; any other file with the extension of a manifest is reported as an
    /// invalid document.
    ///
    /// A file of a directory that contains no object is skipped, as are hidden subdirectories.
    pub fn open(paths: &[PathBuf], recursive: bool, stdin: impl Read) -> Result<Self, InputError> {
        Self::find(paths, recursive, &[], stdin, Err)
    }

    /// Like [`Self::open`], without the files and subdirectories of directories that `exclude` matches. A path that cannot be read is
    /// reported as an invalid document, so that the others are still read.
    pub fn open_except(
        paths: &[PathBuf],
        recursive: bool,
        exclude: &[Pattern],
        stdin: impl Read,
    ) -> Result<Self, InputError> {
        Self::find(paths, recursive, exclude, stdin, InputError::into_source)
    }

    /// Finds the sources of `paths`. `rejected` returns the source for a path with an error.
    fn find(
        paths: &[PathBuf],
        recursive: bool,
        exclude: &[Pattern],
        stdin: impl Read,
        rejected: fn(InputError) -> Result<Source, InputError>,
    ) -> Result<Self, InputError> {
        let mut stdin = Some(stdin);
        let mut sources = Vec::new();
        for path in paths {
            if path.as_os_str() == STDIN {
                let pipe = stdin.take().ok_or(InputError::StdinTwice)?;
                sources.push(Source::spool(STDIN_NAME, pipe).map_err(InputError::Stdin).or_else(rejected)?);
            } else if let Err(error) = add(&mut sources, path, recursive, exclude) {
                sources.push(rejected(error)?);
            }
        }
        if paths.len() > 1 {
            sources = without_repeated(sources);
        }
        if sources.is_empty() { Err(InputError::None) } else { Ok(Self::new(sources)) }
    }

    /// Renders the kustomizations in `directories` with kubectl or kustomize. Objects and errors have the position of the file
    /// from which they come. A kustomization that cannot be rendered is reported as an invalid document.
    #[must_use]
    pub fn kustomize(directories: &[PathBuf]) -> Self {
        let sources: Vec<Source> = directories.iter().map(|directory| kustomize::render(directory)).collect();
        let origins = iter::zip(&sources, directories).map(|(source, directory)| {
            let source: &Arc<str> = source.name();
            (Arc::clone(source), KustomizeOrigins::read(directory))
        });
        let kustomize = origins.collect();
        Self { kustomize, ..Self::new(sources) }
    }

    /// Sets the values that replace placeholders in the text.
    #[must_use]
    pub fn with_substitutions(self, substitutions: Arc<Substitutions>) -> Self {
        Self { substitutions, ..self }
    }

    /// Returns the values that replace placeholders in the text.
    #[must_use]
    pub fn substitutions(&self) -> &Arc<Substitutions> {
        &self.substitutions
    }

    /// Returns the names of the files and pipes without content.
    pub fn empty_sources(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().filter(|source| source.is_empty()).map(|source| &**source.name())
    }

    /// Returns all objects, in the order of the input.
    pub fn documents(&self) -> impl Iterator<Item = Result<Document, DocumentError>> + '_ {
        self.documents_containing(&[])
    }

    /// Returns the objects of documents whose text contains one of `filters`. Other documents are not parsed, which
    /// makes a search of all inputs cheap. The text is compared verbatim, without resolving escapes.
    pub fn documents_containing<'a>(
        &'a self,
        filters: &[&'a [u8]],
    ) -> impl Iterator<Item = Result<Document, DocumentError>> + 'a {
        let documents = Documents::new(&self.sources, filters, &self.substitutions);
        documents.map(|document| {
            document.map(|document| self.relocate(document)).map_err(|error| self.relocate_error(error))
        })
    }

    /// Computes `map` for all objects, which have no warnings, on several threads. Passes the results, or the errors of invalid
    /// documents, to `consume` in the order of the input. If it fails, the remaining input is not read.
    pub fn map_documents<T: Send, E>(
        &self,
        map: impl Fn(Document) -> T + Sync,
        consume: impl FnMut(ObjectResult<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.map_parts(Parts::new(&self.sources, &self.substitutions), map, consume)
    }

    /// Like [`Self::map_documents`], for the objects of a dump, in which lists of kubectl may be larger than a document.
    pub fn map_dumped_objects<T: Send, E>(
        &self,
        map: impl Fn(Document) -> T + Sync,
        consume: impl FnMut(ObjectResult<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.map_parts(Parts::new(&self.sources, &self.substitutions).splitting_lists(), map, consume)
    }

    fn map_parts<T: Send, E>(
        &self,
        parts: Parts<'_, Source>,
        map: impl Fn(Document) -> T + Sync,
        mut consume: impl FnMut(ObjectResult<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut consume = |result: ObjectResult<T>| consume(result.map_err(|error| self.relocate_error(error)));
        let mut collector = Collector::new(&self.sources);
        let size = |part: &Part| part.text_length() + PART_OVERHEAD;
        let map = |part: Part| part.parse(|document| map(self.relocate(document)));
        let done = map_in_order(Limits::of_machine(), parts, size, map, |part| {
            collector.add(part);
            while let Some(result) = collector.pop() {
                if let Err(error) = consume(result) {
                    return ControlFlow::Break(Err(error));
                }
            }
            if collector.is_full() { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
        });
        match done {
            ControlFlow::Break(result) => result,
            ControlFlow::Continue(()) => collector.finish().map_or(Ok(()), |error| consume(Err(error))),
        }
    }

    /// Sets the position of an object of a rendered kustomization to that in its file.
    fn relocate(&self, document: Document) -> Document {
        match self.kustomize.get(&document.source) {
            Some(origins) => origins.relocate(document),
            None => document,
        }
    }

    fn relocate_error(&self, error: DocumentError) -> DocumentError {
        match self.kustomize.get(&error.source) {
            Some(origins) => origins.relocate_error(error),
            None => error,
        }
    }

    fn new(sources: Vec<Source>) -> Self {
        Self { sources, substitutions: Arc::default(), kustomize: BTreeMap::new() }
    }
}

fn add(sources: &mut Vec<Source>, path: &Path, recursive: bool, exclude: &[Pattern]) -> Result<(), InputError> {
    let unreadable = |error| InputError::Unreadable(path.to_owned(), error);
    let metadata = fs::metadata(path).map_err(|error| path_error(path, error))?;
    if metadata.is_dir() {
        return Directory { path, recursive, exclude }.add(sources);
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

/// Returns `sources` with only the first of those that are the same file, which a path may name and another contain. It is a named one if
/// any of them is.
fn without_repeated(sources: Vec<Source>) -> Vec<Source> {
    let working_directory = env::current_dir().unwrap_or_default();
    let mut indexes = HashMap::new();
    let mut kept: Vec<Source> = Vec::with_capacity(sources.len());
    for source in sources {
        let Some(path) = source.path() else {
            kept.push(source);
            continue;
        };
        match indexes.entry(identity(path, &working_directory)) {
            Entry::Vacant(entry) => {
                entry.insert(kept.len());
                kept.push(source);
            }
            Entry::Occupied(entry) if source.origin() == Origin::Named => {
                if let Some(first) = kept.get_mut(*entry.get()) {
                    first.set_origin(Origin::Named);
                }
            }
            Entry::Occupied(_) => {}
        }
    }
    kept
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
