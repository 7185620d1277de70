//! Reads a dump: objects, and logs in files with the extension `.log`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::iter;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstream::ColorChoice;
use anyhow::{Context as _, anyhow, bail};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::directory::{is_log, logs_in};
use crate::cli::{print_error, print_note, print_warning, stderr};
use crate::manifest::{InputError, Inputs, STDIN_NAME, has_extension};
use trainmesh_core::diagnosis::{
    ClusterSnapshot, LogName, LogReader, MAX_LOG, ObjectReader, ObjectRecord, UnassignedLog,
};
use trainmesh_core::manifest::encoding::bom_length;
use trainmesh_core::manifest::{Document, DocumentError};

/// Namespace of objects without one, as in kubectl.
const DEFAULT_NAMESPACE: &str = "default";
/// End of the error about a document that is no object, such as a table of kubectl.
const NO_OBJECT: &str = "found a string";
/// The error about a list without its type, as `jq .items` writes it.
const ITEMS_ONLY: &str = "expected a Kubernetes object, found a list";
/// The error about an object of another program, such as the output of `kubectl describe`.
const NO_TYPE: &str = "not a Kubernetes object: it has no `apiVersion` and no `kind`";
/// Start of the error about the output of a command, which is explained.
const OUTPUT: &str = "the line is no part of an object";
/// Part of the error about an alias whose anchor is in another item of a list, as after a conversion by a YAML library.
const UNKNOWN_ANCHOR: &str = "found unknown anchor";
/// Path of standard input.
const STDIN: &str = "-";
/// Time after the newest time in a dump within which it is probably written, if something happens in the cluster.
const QUIET: SignedDuration = SignedDuration::from_mins(1);
/// Start of errors about the items of a list, which no log has.
const ITEM: &str = "items[";
/// Last line in which a log on standard input is no YAML: its lines contain colons, brackets and percent signs.
const MAX_LOG_LINE: u64 = 3;
/// Bytes at the start of a log that have to be text.
const MAX_HEAD: usize = 1024;
/// First field of a report of NCCL's RAS in JSON.
const RAS_VERSION: &str = "\"nccl_version\"";
const RAS_OUTPUT: &str = "the output of ncclras, which is not read: --ras polls NCCL's RAS in a running job";
/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// How to write the log of a pod, or of several.
const NAMES_HINT: &str =
    "; name it NAMESPACE_POD_CONTAINER.log, or write the logs of several pods with kubectl logs --prefix";

/// A dump that was read.
pub(in crate::cli) struct Dump {
    /// Its objects and logs.
    pub(in crate::cli) snapshot: ClusterSnapshot,
    /// Invalid documents, which were reported.
    pub(in crate::cli) errors: Vec<DocumentError>,
    /// True if an object has no UID, so that it was not read from a cluster.
    pub(in crate::cli) has_manifests: bool,
    /// True if logs were named and none of them was checked, which was reported.
    pub(in crate::cli) lacks_logs: bool,
}

/// Reads dumps and logs. Invalid documents are reported and returned. With `requires_logs`, one log of a container of the input
/// is needed: without it, no log would be checked.
pub(in crate::cli) fn read(paths: &[PathBuf], requires_logs: bool) -> anyhow::Result<Dump> {
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
    let mut dump = read_objects(&dumps)?;
    let counts = logs.iter().map(|path| add_log(&mut dump.snapshot, path)).collect::<anyhow::Result<Vec<_>>>()?;
    if !assign_logs(&mut dump.snapshot, &logs, &counts) {
        let problem = "no log belongs to a container of the input: name the files NAMESPACE_POD_CONTAINER.log";
        if requires_logs {
            bail!(problem);
        }
        dump.lacks_logs = paths.iter().any(|path| is_log(path));
        if dump.lacks_logs {
            print_error(&mut stderr(ColorChoice::Auto), format_args!("{problem}"));
        }
    }
    Ok(dump)
}

/// Returns the time of a dump: `now`, or the newest time in it.
pub(in crate::cli) fn time(snapshot: &ClusterSnapshot, now: Option<Timestamp>) -> anyhow::Result<Timestamp> {
    match (now, snapshot.newest()) {
        // All durations would be too short, so that nothing is found.
        (Some(now), Some(newest)) if now < newest => {
            bail!("--now {now} is before the newest time in the dump, {newest}: pass the time at which it was written")
        }
        (now, newest) => Ok(now.or(newest).unwrap_or(Timestamp::UNIX_EPOCH)),
    }
}

/// Prints a note if a file of the dump was written long after the newest time in it: nothing may have happened since, and a
/// problem needs some time without a change. The time of standard input, and of pipes, is not known. Returns true if a note was
/// printed.
pub(super) fn note_later_files(snapshot: &ClusterSnapshot, paths: &[PathBuf]) -> bool {
    let Some(newest) = snapshot.newest() else { return false };
    let is_later = |written: &Timestamp| written.duration_since(newest) > QUIET;
    if let Some(written) = paths.iter().flat_map(|path| dumps_in(path)).filter_map(|path| written_at(&path)).max()
        && is_later(&written)
    {
        let written = Timestamp::from_second(written.as_second()).unwrap_or(written);
        let note = format_args!(
            "durations end at {newest}, the newest time of the objects; if nothing has happened since, pass --now {written}"
        );
        print_note(&mut stderr(ColorChoice::Auto), note);
        return true;
    }
    false
}

/// Prints a note if a dump on standard input, in which nothing was found, may be newer than the newest time in it: a failure that
/// is the last thing that happened has no duration yet.
pub(super) fn note_standard_input(snapshot: &ClusterSnapshot, paths: &[PathBuf]) {
    let is_read = paths.iter().any(|path| path.as_os_str() == STDIN);
    let Some(newest) = snapshot.newest().filter(|_| is_read) else { return };
    if Timestamp::now().duration_since(newest) > QUIET {
        let note = format_args!(
            "durations end at {newest}, the newest time of the objects, so that a failure at that time does not count yet; if the \
             input was written later, pass its time with --now"
        );
        print_note(&mut stderr(ColorChoice::Auto), note);
    }
}

/// Returns the files with objects of a path.
fn dumps_in(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return if is_log(path) { Vec::new() } else { vec![path.into()] } };
    entries.flatten().map(|entry| entry.path()).filter(|path| has_extension(path)).collect()
}

/// Returns the time at which a regular file was written.
fn written_at(path: &Path) -> Option<Timestamp> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.is_file() && path.as_os_str() != STDIN)?;
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

/// A document of a dump.
struct ReadObject {
    /// The object; `None` if no check reads its kind.
    record: Option<ObjectRecord>,
    /// Problem of a field that decides about findings. The others are read.
    error: Option<DocumentError>,
    is_manifest: bool,
    source: Arc<str>,
}

fn read_objects(paths: &[PathBuf]) -> anyhow::Result<Dump> {
    let inputs = Inputs::open(paths, false, io::stdin()).map_err(|error| match error {
        InputError::EmptyDirectory(path) => {
            let extensions = ".yaml, .yml, .json or .log";
            anyhow!("`{}` contains no {extensions} file: specify the files, or the subdirectory", path.display())
        }
        error => error.into(),
    })?;
    let mut snapshot = ClusterSnapshot::default();
    let mut errors = Vec::new();
    let mut has_manifests = false;
    let mut has_objects = false;
    let stderr = &mut stderr(ColorChoice::Auto);
    let reader = snapshot.reader();
    let read = |document: Document| read_object(&reader, document);
    inputs.map_dumped_objects(read, |document| {
        match document {
            Ok((Err(error), _)) => {
                print_error(stderr, format_args!("{error}"));
                errors.push(error);
            }
            Ok((Ok(ReadObject { record, error, is_manifest, source }), _)) => {
                has_objects = true;
                has_manifests |= is_manifest;
                if let Some(error) = error {
                    print_error(stderr, format_args!("{error}"));
                    errors.push(error);
                }
                if let Some(record) = record {
                    snapshot.add_record(record).with_context(|| source.to_string())?;
                }
            }
            Err(error) if error.skipped.is_some() => {
                print_note(stderr, format_args!("{}: skipped: {}", error.source, error.message));
            }
            Err(mut error) => {
                if let Some(hint) = hint(&error) {
                    error.message = format!("{}: {hint}", error.message);
                }
                print_error(stderr, format_args!("{error}"));
                errors.push(error);
            }
        }
        anyhow::Ok(())
    })?;
    if !errors.is_empty() {
        snapshot.mark_incomplete();
    }
    // Without any object, the input as a whole is an error.
    for name in inputs.empty_sources().filter(|_| has_objects) {
        snapshot.mark_empty_source();
        print_note(stderr, format_args!("{name}: empty: the command that wrote it may have failed"));
    }
    let repeats = snapshot.repeats();
    if repeats > 0 {
        let (noun, verb) = if repeats == 1 { ("object", "is") } else { ("objects", "are") };
        let rule = "the newest version of each counts";
        print_note(stderr, format_args!("{repeats} {noun} {verb} in the input more than once: {rule}"));
    }
    Ok(Dump { snapshot, errors, has_manifests, lacks_logs: false })
}

/// Returns an error if the namespace of an object is no string: the object would count as one of the default namespace.
fn namespace_error(document: &Document) -> Option<DocumentError> {
    let namespace =
        document.value.pointer("/metadata/namespace").filter(|found| !found.is_null() && !found.is_string())?;
    Some(field_error(document, &format!("metadata.namespace: expected a string, found {namespace}: quote it")))
}

/// Reads an object. Fails if its namespace or its name is invalid.
fn read_object(reader: &ObjectReader, document: Document) -> Result<ReadObject, DocumentError> {
    if let Some(error) = namespace_error(&document) {
        return Err(error);
    }
    let default = document.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let mut record = reader.read(&document.value, default);
    if let Some(record) = record.as_mut().filter(|_| document.item.is_some()) {
        record.mark_item();
    }
    // The names of events, and of what no check reads, such as a configuration of kubectl, do not matter.
    let needs_name = record.is_some() && document.value.get("kind").and_then(Value::as_str) != Some("Event");
    if needs_name && let Some(message) = name_problem(&document.value) {
        return Err(field_error(&document, message));
    }
    let mistyped = record.as_ref().and_then(|_| value_problem(&document.value));
    let error = mistyped.map(|message| field_error(&document, &message));
    let is_manifest = document.value.pointer("/metadata/uid").is_none();
    Ok(ReadObject { record, error, is_manifest, source: document.source })
}

/// Returns what is wrong about the name of an object. Without a name, other versions of the object and its peers are not known.
fn name_problem(object: &Value) -> Option<&'static str> {
    let metadata = object.get("metadata");
    let name = metadata.and_then(|metadata| metadata.get("name"));
    // The apiserver completes the name of a manifest.
    let is_generated = || metadata.and_then(|metadata| metadata.get("generateName")).is_some_and(Value::is_string);
    match name {
        Some(Value::String(name)) if !name.is_empty() => None,
        Some(Value::Null | Value::String(_)) | None if is_generated() => None,
        Some(Value::Null | Value::String(_)) | None => Some("metadata.name is missing"),
        Some(_) => Some("metadata.name: expected a string: quote it"),
    }
}

/// Returns which field that decides about findings has a value of another type, as after an edit.
fn value_problem(object: &Value) -> Option<String> {
    let is_time = |time: &Value| time.as_str().is_some_and(|time| time.parse::<Timestamp>().is_ok());
    let created = object.pointer("/metadata/creationTimestamp").filter(|time| !time.is_null());
    if created.is_some_and(|time| !is_time(time)) {
        return Some("metadata.creationTimestamp: expected a time, such as 2026-01-01T12:00:00Z".to_owned());
    }
    let statuses = object.pointer("/status/containerStatuses").and_then(Value::as_array)?;
    let is_count = |count: &Value| count.is_null() || count.is_u64();
    let is_mistyped = |status: &Value| status.get("restartCount").is_some_and(|count| !is_count(count));
    let index = statuses.iter().position(is_mistyped)?;
    Some(format!("status.containerStatuses[{index}].restartCount: expected a non-negative integer"))
}

/// Creates the error about a field of an object, with whose path the message starts.
fn field_error(document: &Document, message: &str) -> DocumentError {
    let prefix = document.item.map(|item| format!("items[{item}]: ")).unwrap_or_default();
    let path = message.split([':', ' ']).next().unwrap_or_default();
    let line = Some(document.path_line(path));
    let (source, message) = (document.source.clone(), format!("{prefix}{message}"));
    DocumentError { source, document: document.document, line, message, skipped: None, placeholders: Vec::new() }
}

/// Returns the probable reason why a file is no dump.
fn hint(error: &DocumentError) -> Option<&'static str> {
    let path = Path::new(&*error.source);
    if !error.message.starts_with(ITEM)
        && let Some(reason) = other_file(path)
    {
        return Some(reason);
    }
    if path.extension().is_some() && !has_extension(path) {
        return Some("a log has to be named *.log, and a dump needs -o yaml or -o json of kubectl get");
    }
    if error.message.contains(UNKNOWN_ANCHOR) {
        return Some("the items of a list share no anchors, which kubectl does not write: convert the dump to JSON");
    }
    if error.message.starts_with(OUTPUT) {
        return None;
    }
    if error.message.ends_with(NO_OBJECT) {
        return Some("write the dump with -o yaml or -o json of kubectl get");
    }
    if error.message == ITEMS_ONLY {
        return Some("keep the object with `apiVersion`, `kind` and `items`, as kubectl get writes it");
    }
    if error.message == NO_TYPE {
        return Some("write the dump with kubectl get -o yaml or -o json, without describe or --output-watch-events");
    }
    let is_start = error.document == 0 && error.line.is_some_and(|line| line <= MAX_LOG_LINE);
    let is_log = &*error.source == STDIN_NAME && is_start && !error.message.starts_with(ITEM);
    is_log.then_some("a log is read only from a file that is named *.log")
}

/// Prints which logs belong to no container of the dump, one line for each file, and returns true if one does. `counts` are
/// the numbers of logs in the files.
fn assign_logs(snapshot: &mut ClusterSnapshot, paths: &[PathBuf], counts: &[usize]) -> bool {
    let stderr = &mut stderr(ColorChoice::Auto);
    let unassigned = snapshot.assign_logs();
    let mut rest = &unassigned[..];
    let mut end = 0;
    let mut has_assigned = false;
    for (path, count) in iter::zip(paths, counts) {
        end += count;
        let of_file;
        (of_file, rest) = rest.split_at(rest.partition_point(|log| log.index < end));
        has_assigned |= of_file.len() < *count;
        let Some(UnassignedLog { reason, name, .. }) = of_file.first() else { continue };
        let path = path.display();
        if *count == 1 {
            // Other programs than kubectl write other prefixes.
            let is_unnamed = name.namespace.is_none() && name.container.is_none();
            let hint = if is_unnamed { NAMES_HINT } else { "" };
            print_warning(stderr, format_args!("{path}: not checked: {reason}{hint}"));
        } else {
            let lost = of_file.len();
            print_warning(stderr, format_args!("{path}: {lost} of {count} logs not checked: {reason}"));
        }
    }
    has_assigned
}

/// Adds the logs in a file: that of the container in its name, or those in the prefixes of its lines. Returns their number. One
/// that cannot be read is reported, because the others may show the cause.
fn add_log(snapshot: &mut ClusterSnapshot, path: &Path) -> anyhow::Result<usize> {
    let file_name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut reader = LogReader::new(LogName::from_file_stem(file_name));
    let stderr = &mut stderr(ColorChoice::Auto);
    let is_complete = match read_log(path, &mut reader) {
        Ok(is_complete) => is_complete,
        // The path is mistyped.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
        }
        Err(error) => {
            print_warning(stderr, format_args!("{}: not checked: {error}", path.display()));
            return Ok(0);
        }
    };
    let logs = reader.finish();
    if !is_complete {
        print_note(stderr, format_args!("{}: only the first {} MiB were read", path.display(), MAX_LOG / 1024 / 1024));
    }
    if logs.is_empty() {
        let path_text = path.display();
        if path.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            let cause = "the container has logged nothing, or the command that wrote the file failed";
            print_note(stderr, format_args!("{path_text}: skipped: empty: {cause}"));
        } else {
            let names = "NAMESPACE_POD_CONTAINER.log";
            print_note(stderr, format_args!("{path_text}: skipped: empty, or not named as in {names}"));
        }
    }
    let count = logs.len();
    for log in logs {
        snapshot.add_log(log).with_context(|| path.display().to_string())?;
    }
    Ok(count)
}

/// Reads a log. Returns false if it exceeds the limit.
fn read_log(path: &Path, reader: &mut LogReader) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; CHUNK];
    let mut is_start = true;
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(true);
        }
        if mem::take(&mut is_start) {
            let head = without_padding(&chunk[..count.min(MAX_HEAD)]);
            bom_length(head)?;
            if let Some(reason) = other_output(&String::from_utf8_lossy(head)) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
        if !reader.push(&chunk[..count]) {
            return Ok(false);
        }
    }
}

/// Returns the start of a log without the NUL bytes that a rotation by copytruncate leaves at the start of a log, and a crash of the
/// node at its end.
fn without_padding(head: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| *byte != 0;
    match (head.iter().position(is_text), head.iter().rposition(is_text)) {
        (Some(start), Some(end)) => &head[start..=end],
        _ => &[],
    }
}

/// Returns which program wrote a regular file that is no dump. Standard input and pipes cannot be read again.
fn other_file(path: &Path) -> Option<&'static str> {
    let is_file = |path: &&Path| path.as_os_str() != STDIN_NAME && path.is_file();
    let mut file = File::open(Some(path).filter(is_file)?).ok()?;
    let mut head = [0; MAX_HEAD];
    let count = file.read(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head[..count]);
    let object = head.trim_start().strip_prefix('{').unwrap_or_default();
    if object.trim_start().starts_with(RAS_VERSION) { Some(RAS_OUTPUT) } else { other_output(&head) }
}

/// Returns which program wrote a text that is no log of a container.
fn other_output(head: &str) -> Option<&'static str> {
    // A rank logs its version, too, but no summary with a line below it.
    let is_underlined = |(line, next): (&str, &str)| {
        line.trim_end() == "Job summary" && next.starts_with('=') && next.trim_end().bytes().all(|byte| byte == b'=')
    };
    if head.starts_with("NCCL version ") && iter::zip(head.lines(), head.lines().skip(1)).any(is_underlined) {
        return Some(RAS_OUTPUT);
    }
    let mut lines = head.lines();
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let process = first.strip_prefix("Process ").and_then(|rest| rest.split_once(": "));
    let is_process = process.is_some_and(|(id, _)| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
    let is_version = second.strip_prefix("Python v").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_stacks = is_process && is_version && lines.next().is_some_and(|line| line.trim_end().is_empty());
    is_stacks.then_some("the output of py-spy, which is not read: compare the stacks of the ranks")
}
