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
const YAML_ITEM_TEXT: &[u8] = &[YAML_ITEM];
/// Line that ends a document in YAML.
const YAML_END: &[u8] = b"...";
/// Starts of the fields after the items in YAML.
const YAML_FIELDS: [&[u8]; 2] = [b"kind:", b"metadata:"];
/// Start of a document in YAML, as kubectl writes it.
const YAML_DOCUMENT: &[u8] = b"apiVersion:";
/// The same, after another line.
const DOCUMENT_LINE: &[u8] = b"\napiVersion:";
/// Starts of lines that commands print beside an object: errors and warnings of kubectl, a prompt, a code fence.
const OUTPUT: [&[u8]; 8] = [
    b"error: ",
    b"Error from server",
    b"Warning: ",
    b"No resources found",
    b"The connection to the server ",
    NO_CONNECTION,
    b"$ ",
    b"```",
];
const NO_CONNECTION: &[u8] = b"Unable to connect to the server";
/// Length of the start of a line that is compared: that of the longest text.
pub(super) const LINE_START: usize = NO_CONNECTION.len();
/// Levels of klog, with which client-go logs.
const LEVELS: &[u8] = b"IWEF";
/// Length of the start of a line of klog, such as `E1128 `: level, month and day.
const KLOG_START: usize = 6;
/// Fields with which kubectl starts an object. Items that start with others may inherit their type from a field after them.
const TYPE_FIELDS: [&str; 2] = ["apiVersion", "kind"];
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
    /// The line that starts here belongs to no item, and is no field of the list.
    Unexpected(usize),
}

impl List {
    /// Recognizes a list in YAML, and returns the length of its header.
    pub(super) fn yaml(text: &[u8]) -> Option<(Self, usize)> {
        let first = text.strip_prefix(YAML_HEADER)?.strip_prefix(&[YAML_ITEM])?.trim_ascii_start();
        let is_list = field_name(first).is_none_or(|name| TYPE_FIELDS.contains(&name));
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
        let (brace, _) = tokens.next().filter(|(_, byte)| **byte == b'{')?;
        // The field belongs to the list itself if its other fields and this one are a complete object.
        let fields = [&head[..at], b"\"items\":null}"].concat();
        let Ok(Value::Object(fields)) = serde_json::from_slice(&fields) else { return None };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let inherited = match (text("apiVersion"), text("kind")) {
            // The kind may follow the items, which inherit it unless they have their own.
            (Some(_), None) => {
                let item = rest[brace + 1..].trim_ascii_start();
                let has_type = |name: &&str| item.starts_with(format!("\"{name}\"").as_bytes());
                TYPE_FIELDS.iter().find(|name| has_type(name))?;
                None
            }
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

/// Lines of an item are indented, empty, or comments. The kind of the list follows the last item, so that text which ends before
/// it is truncated.
fn next_yaml(text: &[u8]) -> Next {
    match text.first() {
        Some(&YAML_ITEM) => {}
        _ => return end_of_item(text, Next::End(0), 0),
    }
    let is_end = |at: &usize| text.get(at + 1).is_some_and(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'#'));
    match memchr::memchr_iter(b'\n', text).find(is_end) {
        Some(line_break) => {
            let end = line_break + 1;
            end_of_item(&text[end..], Next::Item { start: 0, end }, end)
        }
        None => Next::Incomplete,
    }
}

/// Returns `next` if `rest`, which starts at `at`, continues the list.
fn end_of_item(rest: &[u8], next: Next, at: usize) -> Next {
    let mut starts = YAML_FIELDS.into_iter().chain([YAML_ITEM_TEXT]);
    if starts.clone().any(|start| rest.starts_with(start)) {
        next
    } else if starts.any(|start| start.starts_with(rest.trim_ascii_end())) {
        Next::Incomplete
    } else {
        Next::Unexpected(at)
    }
}

/// Returns true if a line in YAML starts an item, a field of the list, or a document.
pub(super) fn continues_list(line: &[u8]) -> bool {
    let starts = YAML_FIELDS.into_iter().chain([YAML_ITEM_TEXT, YAML_DOCUMENT]);
    starts.into_iter().any(|start| line.starts_with(start))
}

/// Returns true if a text starts with a document.
pub(super) fn starts_document(text: &[u8]) -> bool {
    text.starts_with(YAML_DOCUMENT)
}

/// Returns the start of the document that follows the first one in `text` without a separator, if both start as kubectl writes them.
/// No line within an object starts like that.
pub(super) fn next_document(text: &[u8]) -> Option<usize> {
    let line = memchr::memmem::find(text.strip_prefix(YAML_DOCUMENT)?, DOCUMENT_LINE)?;
    Some(YAML_DOCUMENT.len() + line + 1)
}

/// Returns true if a line is the output of a command and no part of an object.
pub(super) fn is_output(line: &[u8]) -> bool {
    let is_klog = match line.get(..KLOG_START) {
        Some([level, date @ .., b' ']) => LEVELS.contains(level) && date.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_klog || OUTPUT.iter().any(|start| line.starts_with(start))
}

/// Returns true if a line may follow the items of a list in YAML: a field, the indented lines of one, or a comment.
pub(super) fn is_tail_line(line: &[u8]) -> bool {
    let is_field = || YAML_FIELDS.iter().any(|field| line.starts_with(field));
    matches!(line.first(), None | Some(b' ' | b'#' | b'\r')) || is_field() || line.trim_ascii_end() == YAML_END
}

/// Returns the name of the field with which a text in YAML starts, unless it is quoted.
fn field_name(text: &[u8]) -> Option<&str> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    let name = str::from_utf8(&text[..end]).ok()?;
    (text[end] == b':' && !name.is_empty()).then_some(name)
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
        // A number, `null` or another word is an invalid item, which ends before the next one.
        first if first.is_ascii_alphanumeric() || first == b'-' => {
            let is_end = |byte: &u8| matches!(byte, b',' | b']') || byte.is_ascii_whitespace();
            let length = text[start..].iter().position(is_end);
            length.map_or(Next::Incomplete, |length| Next::Item { start, end: start + length })
        }
        _ => Next::Invalid,
    }
}
