//! The items of a list, one at a time.
//!
//! `kubectl get -o yaml|json` writes all objects into one list, which for a large cluster exceeds every limit of a document. A
//! list that starts as kubectl and the apiserver write it is therefore read by item. Other lists, in which items may share
//! anchors, are read as documents.

use serde_json::Value;

use super::braces::BraceScanner;

/// Start of a list of `kubectl get -o yaml`, without its first item.
pub(super) const YAML_HEADER: &[u8] = b"apiVersion: v1\nitems:\n";
/// Start of an item in YAML.
const YAML_ITEM: u8 = b'-';
/// Start of the field after the items in YAML.
const YAML_KIND: &[u8] = b"kind:";
/// Maximum length of the fields before the items of a JSON list: type, resource version and continue token.
pub(super) const MAX_HEADER: usize = 4 << 10;
/// Name of the field with the items.
const ITEMS: &[u8] = b"\"items\"";

/// A list that is being read.
#[derive(Debug)]
pub(super) struct List {
    pub(super) syntax: Syntax,
    /// Index of the next item.
    pub(super) index: usize,
    /// `apiVersion` and kind of items without their own, from a list such as `PodList`.
    pub(super) inherited: Option<(String, String)>,
}

/// Syntax of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Block style.
    Yaml,
    /// JSON.
    Json,
}

/// An item of a list, as a part of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// An item from `start` to `end`.
    Item { start: usize, end: usize },
    /// The list ends, and its remaining fields start here.
    End(usize),
    /// The text ends within an item, or the next field is not known yet.
    Incomplete,
    /// The list contains something else.
    Invalid,
}

impl List {
    /// Recognizes a list in YAML, and returns the length of its header.
    pub(super) fn yaml(text: &[u8]) -> Option<(Self, usize)> {
        let is_list = text.strip_prefix(YAML_HEADER)?.first() == Some(&YAML_ITEM);
        is_list.then_some((Self { syntax: Syntax::Yaml, index: 0, inherited: None }, YAML_HEADER.len()))
    }

    /// Recognizes a list in JSON, and returns the length of the text before its first item.
    pub(super) fn json(text: &[u8]) -> Option<(Self, usize)> {
        let head = &text[..text.len().min(MAX_HEADER)];
        let at = memchr::memmem::find(head, ITEMS)?;
        let rest = &head[at + ITEMS.len()..];
        let mut tokens = rest.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace());
        let (_, _) = tokens.next().filter(|(_, byte)| **byte == b':')?;
        let (bracket, _) = tokens.next().filter(|(_, byte)| **byte == b'[')?;
        // An empty list is a document.
        tokens.next().filter(|(_, byte)| **byte == b'{')?;
        // The field belongs to the list itself if its other fields and this one are a complete object.
        let fields = [&head[..at], b"\"items\":null}"].concat();
        let Ok(Value::Object(fields)) = serde_json::from_slice(&fields) else { return None };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let inherited = match (text("apiVersion"), text("kind")) {
            (Some(_), None) => None,
            (Some(version), Some(kind)) => {
                let kind = kind.strip_suffix("List")?;
                (!kind.is_empty()).then(|| (version.to_owned(), kind.to_owned()))
            }
            (None, _) => return None,
        };
        Some((Self { syntax: Syntax::Json, index: 0, inherited }, at + ITEMS.len() + bracket + 1))
    }

    /// Finds the next item in `text`, which starts after the previous one.
    pub(super) fn next(&self, text: &[u8]) -> Next {
        match self.syntax {
            Syntax::Yaml => next_yaml(text),
            Syntax::Json => next_json(text),
        }
    }
}

/// Lines of an item are indented, or empty. The kind of the list follows the last item, so that text which ends before it is
/// truncated.
fn next_yaml(text: &[u8]) -> Next {
    match text.first() {
        Some(&YAML_ITEM) => {}
        Some(_) if !YAML_KIND.starts_with(text.trim_ascii_end()) => return Next::End(0),
        Some(_) | None => return Next::Incomplete,
    }
    let is_end = |at: &usize| text.get(at + 1).is_some_and(|byte| !matches!(byte, b' ' | b'\n' | b'\r'));
    match memchr::memchr_iter(b'\n', text).find(is_end) {
        Some(line_break) => Next::Item { start: 0, end: line_break + 1 },
        None => Next::Incomplete,
    }
}

fn next_json(text: &[u8]) -> Next {
    let is_token = |byte: &u8| !byte.is_ascii_whitespace() && *byte != b',';
    let Some(start) = text.iter().position(is_token) else { return Next::Incomplete };
    match text[start] {
        b'{' => match BraceScanner::default().find_end(&text[start..]) {
            Some(length) => Next::Item { start, end: start + length },
            None => Next::Incomplete,
        },
        b']' => Next::End(start),
        _ => Next::Invalid,
    }
}
