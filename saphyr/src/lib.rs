//! Replaces the crate of this name, with which kube-client reads kubeconfig files and the output of credential plugins. The
//! reader of manifests reads them as kubectl does. A second reader would take a twentieth of the binary.

use std::str;

use serde_core::de::DeserializeOwned;
use serde_json::Value;

/// Text that is not valid YAML, or whose fields have other types.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not valid UTF-8.
    #[error("not valid UTF-8")]
    Encoding,
    /// The text is not valid YAML.
    #[error(transparent)]
    Syntax(#[from] trainmesh_yaml::Error),
    /// A field is missing or has another type. Its value is left out, because it may be a credential.
    #[error("{0}")]
    Type(String),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let found = text.strip_prefix("invalid type: ").and_then(|found| found.split([' ', ',']).next());
        let expected = text.rsplit_once(", expected ").map(|(_, expected)| expected);
        Self::Type(match (found, expected) {
            (Some(found), Some(expected)) => format!("invalid type: {found}, expected {expected}"),
            _ if text.starts_with("missing field") => text,
            _ => "invalid value".to_owned(),
        })
    }
}

/// Reads a document.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let text = str::from_utf8(bytes).map_err(|_| Error::Encoding)?;
    Ok(serde_json::from_value(read(text)?)?)
}

/// Reads documents that are separated by `---`. Omits those without a value.
pub fn from_multiple<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    for document in documents(text) {
        match read(document)? {
            Value::Null => {}
            value => values.push(serde_json::from_value(value)?),
        }
    }
    Ok(values)
}

/// Reads a document; the last of duplicate keys takes effect.
fn read(text: &str) -> Result<Value, Error> {
    Ok(trainmesh_yaml::parse_without_lines(text)?.0)
}

/// Splits `text` before each line with `---` but the first one of a document. Directives and comments precede that line.
fn documents(text: &str) -> Vec<&str> {
    let is_separator = |at: usize| matches!(text.as_bytes().get(at + 4), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
    let mut documents = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices("\n---").filter(|(at, _)| is_separator(*at)) {
        let is_start = |line: &str| line.trim().is_empty() || line.starts_with(['#', '%']);
        if !text[start..=at].lines().all(is_start) {
            documents.push(&text[start..=at]);
            start = at + 1;
        }
    }
    documents.push(&text[start..]);
    documents
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_read_one_by_one() {
        for (text, expected) in [
            ("", Ok(vec![])),
            ("# comment\n---\n", Ok(vec![])),
            ("%YAML 1.2\n# comment\n---\na: 1\n---\nb: 2\n", Ok(vec![json!({"a": 1}), json!({"b": 2})])),
            ("a: 1\n", Ok(vec![json!({"a": 1})])),
            (
                "---\na: 1\n---\n---\r\nb: |\n  ---\n--- {c: 2}",
                Ok(vec![json!({"a": 1}), json!({"b": "---\n"}), json!({"c": 2})]),
            ),
            ("a: ---\nb: \"\n ---x\"\n", Ok(vec![json!({"a": "---", "b": " ---x"})])),
            ("{\"a\": 1, \"a\": 2}", Ok(vec![json!({"a": 2})])),
            ("a: [", Err("line 1: ")),
        ] {
            match (from_multiple::<Value>(text), expected) {
                (Ok(values), Ok(expected)) => assert_eq!(values, expected, "{text}"),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{text}: {error}"),
                (result, expected) => panic!("{text}: {result:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn a_document_is_json_or_yaml() {
        let number = |bytes: &[u8]| from_slice::<u8>(bytes).map_err(|error| error.to_string());
        for text in ["7", "7\n", "---\n7\n"] {
            assert_eq!(number(text.as_bytes()), Ok(7), "{text}");
        }
        assert_eq!(number(b"\xff"), Err("not valid UTF-8".to_owned()));
        assert_eq!(number(b"x"), Err("invalid type: string, expected u8".to_owned()));
    }
}
