//! Parses the text of one document and extracts its objects.

use std::borrow::Cow;
use std::mem;
use std::str;
use std::sync::Arc;

use memchr::memchr_iter;
use serde_json::Value;

use super::object::{Object, ObjectError, extract_item, extract_objects};
use super::placeholder::{advice, placeholder_with_default, placeholders};
use super::skipped::{is_chart, is_helm_template, kustomization, without_object};
use super::split::{RawDocument, RawItem};
use super::{Document, DocumentError, DocumentText, DocumentWarning, SkippedFile, Substitutions, json};
use crate::yaml::{self, DuplicateKey, Lines};

/// A document.
struct Parsed {
    value: Value,
    duplicates: Vec<DuplicateKey>,
    /// `None` for JSON, whose parser does not record lines, and for items of large lists.
    lines: Option<Lines>,
}

/// Maximum number of lines with placeholders at which the parser of one document stops: each costs a parse of the document.
const MAX_ROUNDS: usize = 8;
/// Starts of the lines that Git adds around a conflict.
const CONFLICT_MARKERS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];
/// Text that replaces a placeholder to find the next one.
const STAND_IN: &str = "x";

/// Returns the text of a document with its placeholders replaced. The line of an error is relative to the document.
pub(super) fn text<'text>(
    raw: &RawDocument<'text>,
    substitutions: &Substitutions,
) -> Result<Cow<'text, str>, yaml::Error> {
    let bytes = raw.text.map_err(|error| yaml::Error { line: 1, message: error.to_string() })?;
    let text = str::from_utf8(bytes).map_err(|error| {
        let line = 1 + memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
        yaml::Error { line, message: "not valid UTF-8: save it as UTF-8".to_owned() }
    })?;
    substitutions.apply(text).map_err(|error| yaml::Error { line: 1, message: error.to_string() })
}

/// Parses the text of a document or of an item of a list, which starts on `line`, and extracts its objects.
pub(super) fn parse_objects(
    source: &Arc<str>,
    document: usize,
    line: u64,
    item: Option<RawItem<'_>>,
    text: Result<String, yaml::Error>,
) -> Vec<Result<Document, DocumentError>> {
    let error = |line, message, skipped| {
        let (source, placeholders) = (source.clone(), Vec::new());
        DocumentError { source, document, line: Some(line), message, skipped, placeholders }
    };
    // The items of a dump are many, and their fields are not located in it.
    let records_lines = item.is_none();
    let parsed = text.map_err(|error| (error, None, Vec::new())).and_then(|text| match parse(&text, records_lines) {
        Ok(parsed) => Ok((parsed, text)),
        Err(found) => {
            let skipped = is_helm_template(&text).then_some(SkippedFile::HelmTemplate);
            let (found, placeholders) = match conflict(&text) {
                Some(conflict) => (conflict, Vec::new()),
                None => explain_placeholders(&text, found),
            };
            Err((found, skipped, placeholders))
        }
    });
    let (Parsed { value, duplicates, lines }, text) = match parsed {
        Ok(parsed) => parsed,
        Err((found, skipped, placeholders)) => {
            let error = error(line + found.line.saturating_sub(1), found.message, skipped);
            return vec![Err(DocumentError { placeholders, ..error })];
        }
    };
    let warning = |duplicate: &DuplicateKey| DocumentWarning::from_duplicate(source, document, line, duplicate);
    let mut warnings: Vec<_> = duplicates.iter().map(warning).collect();
    let text = match lines {
        Some(lines) => DocumentText::with_lines(lines, line),
        None => DocumentText::new(text, line),
    };
    let extracted = match item {
        Some(RawItem { index, inherited }) => extract_item(value, index, inherited),
        None => extract_objects(value),
    };
    let objects = extracted.into_iter().map(|object| {
        let object = object.map_err(|ObjectError { message, is_foreign, path }| {
            let is_skipped = is_foreign || is_chart(source);
            let line = text.of_object(path).object_line().unwrap_or(line);
            error(line, message, is_skipped.then(|| without_object(source)))
        })?;
        let Object { item, namespace, is_reviewed, value, path } = object;
        if let Some(skipped) = kustomization(source, &value) {
            return Err(error(line, "a kustomization".to_owned(), Some(skipped)));
        }
        let (source, text, warnings) = (source.clone(), text.of_object(path), mem::take(&mut warnings));
        let overlay = None;
        Ok(Document { source, document, item, line, namespace, is_reviewed, value, text, overlay, warnings })
    });
    objects.collect()
}

/// Parses the text of a document. The lines of an error and of duplicate keys are relative to the document.
fn parse(text: &str, records_lines: bool) -> Result<Parsed, yaml::Error> {
    let Some(inner) = text.trim_start().strip_prefix('{') else { return parse_yaml(text, records_lines) };
    match json::parse(text) {
        Ok((value, duplicates)) => Ok(Parsed { value, duplicates, lines: None }),
        Err(json_error) => {
            // A brace can also start a YAML flow mapping.
            let is_json = inner.trim_start().starts_with(['"', '}']);
            parse_yaml(text, records_lines).map_err(|yaml_error| if is_json { json_error } else { yaml_error })
        }
    }
}

fn parse_yaml(text: &str, records_lines: bool) -> Result<Parsed, yaml::Error> {
    if !records_lines {
        let (value, duplicates) = yaml::parse_without_lines(text)?;
        return Ok(Parsed { value, duplicates, lines: None });
    }
    let (value, duplicates, lines) = yaml::parse_manifest_tree(text)?.into_parts();
    Ok(Parsed { value, duplicates, lines: Some(lines) })
}

/// Returns the error about the first conflict of Git in a text that cannot be parsed.
fn conflict(text: &str) -> Option<yaml::Error> {
    let is_marker = |line: &str| CONFLICT_MARKERS.iter().any(|marker| line.starts_with(marker));
    let index = text.lines().position(is_marker)?;
    let message = "a conflict marker of Git: resolve the conflict, and remove the markers".to_owned();
    Some(yaml::Error { line: index as u64 + 1, message })
}

/// Extends the message of a syntax error if the line of the error contains a placeholder, as in `[${NAME}]`. Also returns the
/// names of all placeholders on such lines, unless the first one has a default: no value can replace it.
fn explain_placeholders(text: &str, error: yaml::Error) -> (yaml::Error, Vec<String>) {
    let mut names = Vec::new();
    if let Some(found) = find_line(text, error.line).and_then(|(_, line)| placeholder_with_default(line)) {
        let problem = format!("the line contains {found}: a placeholder with a default is not supported");
        let message = format!("{}; {problem}: render the manifest first", error.message);
        return (yaml::Error { message, ..error }, names);
    }
    let (mut replaced, mut line) = (text.to_owned(), error.line);
    for _ in 0..MAX_ROUNDS {
        let Some(text) = without_placeholders(&replaced, line, &mut names) else { break };
        replaced = text;
        match parse(&replaced, false) {
            Ok(_) => break,
            Err(next) => line = next.line,
        }
    }
    let Some(first) = names.first() else { return (error, names) };
    let advice = advice(names.iter().map(String::as_str));
    let message = format!("{}; the line contains the shell placeholder ${{{first}}}: {advice}", error.message);
    (yaml::Error { message, ..error }, names)
}

/// Returns `text` with the placeholders of one line replaced, and adds their names to `names`; `None` if it contains none.
fn without_placeholders(text: &str, line: u64, names: &mut Vec<String>) -> Option<String> {
    let (start, line) = find_line(text, line)?;
    let (mut replaced, mut copied) = (text[..start].to_owned(), start);
    for found in placeholders(line).filter(|found| found.braced) {
        if !names.iter().any(|known| known == found.name) {
            names.push(found.name.to_owned());
        }
        replaced += &text[copied..start + found.range.start];
        replaced += STAND_IN;
        copied = start + found.range.end;
    }
    (copied > start).then(|| replaced + &text[copied..])
}

/// Returns the line with this number in `text`, and its start.
fn find_line(text: &str, number: u64) -> Option<(usize, &str)> {
    let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let start = text.split_inclusive('\n').take(index).map(str::len).sum::<usize>();
    Some((start, text.get(start..)?.lines().next()?))
}
