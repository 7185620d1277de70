//! Reads a dump: objects, and logs in files with the extension `.log`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use anyhow::{Context as _, bail};

use crate::cli::{print_error, print_note, stderr};
use crate::manifest::{InputError, Inputs};
use trainmesh_core::diagnosis::{ClusterSnapshot, LogName, LogReader, MAX_LOG};
use trainmesh_core::manifest::DocumentError;

/// Namespace of objects without one, as in kubectl.
const DEFAULT_NAMESPACE: &str = "default";
/// Extension of logs.
const LOG: &str = "log";
/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// Reads dumps and logs. Invalid documents are reported and returned. With `requires_logs`, one log is needed.
pub(in crate::cli) fn read(
    paths: &[PathBuf],
    requires_logs: bool,
) -> anyhow::Result<(ClusterSnapshot, Vec<DocumentError>)> {
    let mut logs = Vec::new();
    let mut dumps = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = logs_in(path)?;
            let has_no_dump = || {
                matches!(
                    Inputs::open(std::slice::from_ref(path), false, io::empty()),
                    Err(InputError::EmptyDirectory(_))
                )
            };
            if found.is_empty() || !has_no_dump() {
                dumps.push(path.clone());
            }
            logs.extend(found);
        } else if is_log(path) {
            logs.push(path.clone());
        } else {
            dumps.push(path.clone());
        }
    }
    if dumps.is_empty() {
        bail!("no dump of the pods: add one with -f, from kubectl get pods -o yaml");
    }
    if logs.is_empty() && requires_logs {
        bail!("no log: add files named NAMESPACE_POD_CONTAINER.log with -f, or the output of kubectl logs --prefix");
    }
    let (mut snapshot, errors) = read_objects(&dumps)?;
    logs.iter().try_for_each(|path| add_log(&mut snapshot, path))?;
    Ok((snapshot, errors))
}

fn read_objects(paths: &[PathBuf]) -> anyhow::Result<(ClusterSnapshot, Vec<DocumentError>)> {
    let inputs = Inputs::open(paths, false, io::stdin())?;
    let mut snapshot = ClusterSnapshot::default();
    let mut errors = Vec::new();
    let stderr = &mut stderr(ColorChoice::Auto);
    for document in inputs.dumped_objects() {
        match document {
            Ok(document) => {
                let default = document.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
                snapshot.add(&document.value, default).with_context(|| document.source.to_string())?;
            }
            Err(error) if error.skipped.is_some() => {
                print_note(stderr, format_args!("{}: skipped: {}", error.source, error.message));
            }
            Err(error) => {
                print_error(stderr, format_args!("{error}"));
                errors.push(error);
            }
        }
    }
    Ok((snapshot, errors))
}

/// Adds the logs in a file: that of the container in its name, or those in the prefixes of its lines.
fn add_log(snapshot: &mut ClusterSnapshot, path: &Path) -> anyhow::Result<()> {
    let step = || format!("cannot read `{}`", path.display());
    let file_name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut reader = LogReader::new(LogName::from_file_stem(file_name));
    let mut file = File::open(path).with_context(step)?;
    let mut chunk = vec![0; CHUNK];
    let mut is_complete = true;
    while is_complete {
        let count = file.read(&mut chunk).with_context(step)?;
        if count == 0 {
            break;
        }
        is_complete = reader.push(&chunk[..count]);
    }
    let logs = reader.finish();
    let stderr = &mut stderr(ColorChoice::Auto);
    if !is_complete {
        print_note(stderr, format_args!("{}: only the first {} MiB were read", path.display(), MAX_LOG / 1024 / 1024));
    }
    if logs.is_empty() {
        let names = "NAMESPACE_POD_CONTAINER.log";
        print_note(stderr, format_args!("{}: skipped: empty, or not named as in {names}", path.display()));
    }
    for log in logs {
        snapshot.add_log(log).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Returns the logs in a directory, in the order of their names.
fn logs_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let step = || format!("cannot read `{}`", directory.display());
    let entries = fs::read_dir(directory).with_context(step)?;
    let paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>().with_context(step)?;
    let mut logs: Vec<PathBuf> = paths.into_iter().filter(|path| is_log(path) && path.is_file()).collect();
    logs.sort();
    Ok(logs)
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == LOG)
}
