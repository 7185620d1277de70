//! Finds the manifests of a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use trainmesh_core::manifest::{CHART_FILE, Origin, Source as _};

use super::input_error::{InputError, MAX_FILES};
use super::kustomize_patches::KustomizePatches;
use super::pattern::Pattern;
use super::source::{NOT_A_FILE, Source};

/// Extensions of manifests and dumps in a directory, as in kubectl. A file that is given explicitly can have any extension.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];
/// Maximum nesting of directories. It bounds the recursion into a directory that is bind-mounted into itself.
const MAX_DEPTH: usize = 64;
/// Directory of a Helm chart with its templates.
const TEMPLATES: &str = "templates";

/// A directory of manifests.
pub(super) struct Directory<'a> {
    pub(super) path: &'a Path,
    /// Includes subdirectories, except hidden ones.
    pub(super) recursive: bool,
    /// Files and directories that are left out. Patterns match the path below `path`, and the whole path.
    pub(super) exclude: &'a [Pattern],
}

impl Directory<'_> {
    /// Adds the manifests to `sources`, in the order of their names, with patches of kustomizations marked.
    pub(super) fn add(&self, sources: &mut Vec<Source>) -> Result<(), InputError> {
        let before = sources.len();
        let mut patches = KustomizePatches::new();
        let levels = self.recursive.then_some(MAX_DEPTH);
        self.add_level(sources, &mut patches, self.path, levels, chart_origin(self.path))?;
        if sources.iter().skip(before).any(|source| source.origin() != Origin::LinkedDirectory) {
            patches.mark(&mut sources[before..]);
            return Ok(());
        }
        sources.truncate(before);
        let path = self.path.to_owned();
        if self.recursive {
            return Err(InputError::EmptyTree(path));
        }
        let is_excluded = |path: &PathBuf| has_extension(path) && self.excludes(path);
        let has_excluded = entries(self.path)?.iter().any(is_excluded);
        Err(if has_excluded { InputError::Excluded(path) } else { InputError::EmptyDirectory(path) })
    }

    /// Adds the manifests of `directory` and, unless `levels` is `None`, of up to `levels` levels of subdirectories.
    fn add_level(
        &self,
        sources: &mut Vec<Source>,
        patches: &mut KustomizePatches,
        directory: &Path,
        levels: Option<usize>,
        origin: Origin,
    ) -> Result<(), InputError> {
        let is_chart = directory.join(CHART_FILE).is_file();
        let origin = if is_chart && origin == Origin::Directory { Origin::Chart } else { origin };
        patches.add(directory);
        for path in entries(directory)? {
            if self.excludes(&path) {
                continue;
            }
            // Inspects the entry, not its target, to prevent loops of symbolic links.
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                let is_templates = is_chart && path.file_name().is_some_and(|name| name == TEMPLATES);
                let origin = if is_templates { Origin::ChartTemplates } else { origin };
                match levels {
                    _ if is_hidden(&path) => {}
                    None => {}
                    Some(0) => sources.push(Source::rejected(
                        &path,
                        format!("is nested deeper than the limit of {MAX_DEPTH} directories"),
                    )),
                    Some(levels) => match self.add_level(sources, patches, &path, Some(levels - 1), origin) {
                        Err(InputError::Unreadable(path, error)) => {
                            sources.push(Source::rejected(&path, format!("cannot be read: {error}")));
                        }
                        other => other?,
                    },
                }
            } else if levels.is_some() && path.is_dir() {
                if !is_hidden(&path) {
                    sources.push(Source::listed(&path, Origin::LinkedDirectory));
                }
            } else if has_extension(&path) {
                sources.extend(file(&path, origin));
            }
            if sources.len() > MAX_FILES {
                return Err(InputError::TooManyFiles(directory.to_owned()));
            }
        }
        Ok(())
    }

    fn excludes(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.path).unwrap_or(path);
        // Every pattern is compared, so that those without effect are known.
        self.exclude.iter().filter(|pattern| pattern.excludes(path, below)).count() > 0
    }
}

/// Returns the source for `path`, a file of a directory; `None` for a link to a directory.
fn file(path: &Path, origin: Origin) -> Option<Source> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => None,
        Ok(metadata) if metadata.is_file() => Some(Source::listed(path, origin)),
        Ok(_) => Some(Source::rejected(path, NOT_A_FILE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(Source::rejected(path, "is a symbolic link to a file that does not exist"))
        }
        // The error is reported when the source is read.
        Err(_) => Some(Source::listed(path, origin)),
    }
}

/// Returns the origin of files in `directory`, which may itself belong to a chart.
fn chart_origin(directory: &Path) -> Origin {
    let absolute = directory.canonicalize().unwrap_or_default();
    let is_templates = |path: &Path| {
        path.file_name().is_some_and(|name| name == TEMPLATES)
            && path.parent().is_some_and(|chart| chart.join(CHART_FILE).is_file())
    };
    if absolute.ancestors().any(is_templates) {
        Origin::ChartTemplates
    } else if absolute.ancestors().any(|path| path.join(CHART_FILE).is_file()) {
        Origin::Chart
    } else {
        Origin::Directory
    }
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

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Returns true if `path` has the extension of manifests.
#[must_use]
pub fn has_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
}
