//! Parses the text of one document and extracts its objects.

use std::borrow::Cow;
use std::mem;
use std::str;
use std::sync::Arc;

use memchr::memchr_iter;
use serde_json::Value;

use super::object::{ObjectError, extract_objects};
use super::placeholder::{advice, placeholders};
use super::skipped::{is_chart, is_helm_template, is_kustomization, without_object};
use super::split::RawDocument;
use super::{Document, DocumentError, DocumentText, DocumentWarning, SkippedFile, Substitutions, json};
use crate::yaml::{self, DuplicateKey};

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

/// Parses the text of a document, which starts on `line`, and extracts its objects.
pub(super) fn parse_objects(
    source: &Arc<str>,
    document: usize,
    line: u64,
    text: Result<Cow<'_, str>, yaml::Error>,
) -> Vec<Result<Document, DocumentError>> {
    let error =
        |line, message, skipped| DocumentError { source: source.clone(), document, line: Some(line), message, skipped };
    let parsed = text.map_err(|error| (error, None)).and_then(|text| match parse(&text) {
        Ok((value, duplicates)) => Ok((value, duplicates, text)),
        Err(error) => Err((error, is_helm_template(&text).then_some(SkippedFile::HelmTemplate))),
    });
    let (value, duplicates, text) = match parsed {
        Ok(parsed) => parsed,
        Err((found, skipped)) => return vec![Err(error(line + found.line.saturating_sub(1), found.message, skipped))],
    };
    let warning = |duplicate: &DuplicateKey| DocumentWarning::from_duplicate(source, document, line, duplicate);
    let mut warnings: Vec<_> = duplicates.iter().map(warning).collect();
    let text = DocumentText::new(text.into_owned(), line);
    let objects = extract_objects(value).into_iter().map(|object| {
        let object = object.map_err(|ObjectError { message, is_foreign }| {
            let is_skipped = is_foreign || is_chart(source);
            error(line, message, is_skipped.then(|| without_object(source)))
        })?;
        let (item, namespace, value) = (object.item, object.namespace, object.value);
        if is_kustomization(source, &value) {
            return Err(error(line, "a kustomization".to_owned(), Some(SkippedFile::Kustomization)));
        }
        let (source, text, warnings) = (source.clone(), text.clone(), mem::take(&mut warnings));
        Ok(Document { source, document, item, line, namespace, value, text, warnings })
    });
    objects.collect()
}

/// Parses the text of a document. The lines of an error and of duplicate keys are relative to the document.
fn parse(text: &str) -> Result<(Value, Vec<DuplicateKey>), yaml::Error> {
    let inner = text.trim_start().strip_prefix('{');
    let parsed = inner.map_or_else(
        || yaml::parse_manifest(text),
        |inner| {
            json::parse(text).or_else(|json_error| {
                // A brace can also start a YAML flow mapping.
                let is_json = inner.trim_start().starts_with(['"', '}']);
                yaml::parse_manifest(text).map_err(|yaml_error| if is_json { json_error } else { yaml_error })
            })
        },
    );
    parsed.map_err(|error| explain_placeholder(text, error))
}

/// Extends the message of a syntax error if the line of the error contains a placeholder, as in `[${NAME}]`.
fn explain_placeholder(text: &str, error: yaml::Error) -> yaml::Error {
    let index = usize::try_from(error.line).unwrap_or(usize::MAX).saturating_sub(1);
    let found = text.lines().nth(index).and_then(|line| placeholders(line).find(|found| found.braced));
    match found {
        None => error,
        Some(found) => {
            let (name, advice) = (found.name, advice([found.name].into_iter()));
            let message = format!("{}; the line contains the shell placeholder ${{{name}}}: {advice}", error.message);
            yaml::Error { message, ..error }
        }
    }
}
