//! Directories of dumps and logs, and notes about what is in them and not read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use anyhow::Context as _;

use crate::cli::{print_note, stderr};
use crate::manifest::has_extension;

/// Extension of logs.
const LOG: &str = "log";
/// Extension of compressed files, which are not read.
const COMPRESSED: &str = "gz";

/// Returns the logs in a directory, in the order of their names. Notes count the compressed files, files of other names and
/// subdirectories, which are not read.
pub(super) fn logs_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let step = || format!("cannot read `{}`", directory.display());
    let entries = fs::read_dir(directory).with_context(step)?;
    let paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>().with_context(step)?;
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_dir());
    let (mut logs, others): (Vec<PathBuf>, Vec<PathBuf>) =
        files.into_iter().filter(|path| path.is_file()).partition(|path| is_log(path));
    logs.sort();
    let uncompressed = |path: &PathBuf| {
        let is_compressed = path.extension().is_some_and(|extension| extension == COMPRESSED);
        is_compressed.then(|| path.with_extension(""))
    };
    let compressed: Vec<PathBuf> = others.iter().filter_map(uncompressed).collect();
    let count = |is_counted: &dyn Fn(&Path) -> bool| compressed.iter().filter(|path| is_counted(path)).count();
    let is_hidden = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let subdirectories = directories.iter().filter(|path| !is_hidden(path)).count();
    note(directory, count(&is_log), "compressed log", "(.log.gz): decompress with gunzip");
    note(directory, count(&has_extension), "compressed dump", "(.gz): decompress with gunzip");
    let is_other = |path: &&PathBuf| uncompressed(path).is_none() && !has_extension(path) && !is_hidden(path);
    let mut unknown: Vec<&PathBuf> = others.iter().filter(is_other).collect();
    unknown.sort();
    if let Some(name) = unknown.first().and_then(|path| path.file_name()) {
        let first = format!("({}): a log has to be named *.log", name.display());
        note(directory, unknown.len(), "other file", &first);
    }
    let (noun, hint) = if subdirectories == 1 { ("subdirectory", "add it") } else { ("subdirectories", "add each") };
    if subdirectories > 0 {
        let what = format_args!("{}: skipped {subdirectories} {noun}: {hint} with -f", directory.display());
        print_note(&mut stderr(ColorChoice::Auto), what);
    }
    Ok(logs)
}

fn note(directory: &Path, count: usize, noun: &str, hint: &str) {
    if count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        let what = format_args!("{}: skipped {count} {noun}{plural} {hint}", directory.display());
        print_note(&mut stderr(ColorChoice::Auto), what);
    }
}

/// Returns true for files with logs.
pub(super) fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == LOG)
}
