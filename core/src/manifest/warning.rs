//! Warnings about a document that are not about one of its pods.

use std::fmt;
use std::sync::Arc;

use super::{Document, write_position};
use crate::finding::Severity;
use crate::yaml::DuplicateKey;

/// A warning about a document, which is read nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentWarning {
    /// Path of the file, `stdin`, or one of [`Self::FLAGS`].
    pub source: Arc<str>,
    /// Zero-based index of the document in its source, including empty documents.
    pub document: usize,
    /// One-based line of the source; `None` if the source is no file.
    pub line: Option<u64>,
    /// Code of the lint check; `None` for a warning about the text.
    pub check: Option<&'static str>,
    /// Severity: a warning, except for a lint check.
    pub severity: Severity,
    /// True if pods of the document are not shown.
    pub hides_pods: bool,
    /// Warning message.
    pub message: String,
}

/// Maximum number of characters of a key that a warning quotes: enough to recognize it on a single line.
const MAX_QUOTED_CHARS: usize = 60;

impl DocumentWarning {
    /// Flag with the labels of all namespaces.
    pub(crate) const NAMESPACE_LABELS: &str = "--namespace-labels";
    /// Flag with the fabric label of all namespaces.
    pub(crate) const FABRIC: &str = "--fabric";
    /// Flag with the gang label of all namespaces.
    pub(crate) const GANG: &str = "--gang";
    /// Sources of warnings about the labels of all namespaces: the flags that set them.
    pub const FLAGS: [&str; 3] = [Self::NAMESPACE_LABELS, Self::FABRIC, Self::GANG];

    /// Creates the warning of lint check `check`, if it is that of one, about the field of `document` at this position, which may be in
    /// a kustomization.
    #[must_use]
    pub fn at(
        document: &Document,
        (source, line): (Arc<str>, u64),
        check: impl Into<Option<&'static str>>,
        message: String,
    ) -> Self {
        // A kustomization is a file with one document.
        let index = if source == document.source { document.document } else { 0 };
        let severity = Severity::Warning;
        Self { source, document: index, line: Some(line), check: check.into(), severity, hides_pods: false, message }
    }

    /// Returns true if the warning is one of `check` about the field at `path`, with which its message starts after the object.
    pub(crate) fn is_about(&self, check: &str, path: &str) -> bool {
        let rest = self.message.split_once(": ").and_then(|(_, field)| field.strip_prefix(path));
        self.check == Some(check) && rest.is_some_and(|rest| rest.starts_with([':', ' ']))
    }

    /// Sets the severity.
    #[must_use]
    pub fn with_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// Creates the warning about a duplicate key of the document at `source` and `document`, which starts on `line`.
    pub(super) fn from_duplicate(source: &Arc<str>, document: usize, line: u64, duplicate: &DuplicateKey) -> Self {
        let DuplicateKey { key, lines } = duplicate;
        let mut quoted = key.clone();
        if let Some((end, _)) = key.char_indices().nth(MAX_QUOTED_CHARS) {
            quoted.truncate(end);
            quoted.push('…');
        }
        let (at, place) = match lines.map(|lines| lines.map(|found| line + found.saturating_sub(1))) {
            Some([replaced, at]) => (at, format!("is already set on line {replaced}")),
            None => (line, "is set more than once in a mapping".to_owned()),
        };
        let message = format!("key \"{quoted}\" {place}: kubectl keeps only the last value; remove the others");
        let (source, severity) = (Arc::clone(source), Severity::Warning);
        Self { source, document, line: Some(at), check: None, severity, hides_pods: false, message }
    }

    /// Creates the warning of lint check `check` about a label of all namespaces, which `flag` sets.
    pub(crate) fn about_labels(flag: &str, check: &'static str, message: String) -> Self {
        let (source, severity) = (flag.into(), Severity::Warning);
        Self { source, document: 0, line: None, check: Some(check), severity, hides_pods: false, message }
    }
}

impl fmt::Display for DocumentWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_position(formatter, &self.source, self.document, self.line)?;
        if let Some(check) = self.check {
            let letter = match self.severity {
                Severity::Error => " E",
                Severity::Warning => "",
                Severity::Info | Severity::Ok => " I",
            };
            write!(formatter, "{check}{letter}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::lines("env", Some([3, 5]), "a.yaml: document 2, line 14: key \"env\" is already set on line 12: kubectl")]
    #[case::no_lines(
        "env",
        None,
        "a.yaml: document 2, line 10: key \"env\" is set more than once in a mapping: kubectl"
    )]
    #[case::long_key(&"é".repeat(61), Some([1, 1]), &format!("a.yaml: document 2, line 10: key \"{}…\" is", "é".repeat(60)))]
    fn both_lines_are_those_of_the_source(#[case] key: &str, #[case] lines: Option<[u64; 2]>, #[case] expected: &str) {
        let duplicate = DuplicateKey { key: key.to_owned(), lines };
        let warning = DocumentWarning::from_duplicate(&"a.yaml".into(), 1, 10, &duplicate).to_string();
        assert!(warning.starts_with(expected), "{warning}");
    }
}
