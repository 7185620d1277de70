//! Text that Kubernetes accepts and this scanner rejects: it is changed to text with the same value and the same lines.
//!
//! The scanner of Kubernetes (go-yaml v2) permits quoted scalars that continue without indentation, tabs before the lines of a quoted
//! scalar and of a flow collection, and comments that no space precedes.

use std::cmp::Ordering;

use granit_parser::{ErrorKind, Event, Parser, ScanError};
use memchr::{memchr, memrchr};

use super::flow::FlowDepth;
use super::parse::options;

/// Maximum length of a text that is changed, in bytes. Each change costs a scan up to the next one.
const MAX_LENGTH: usize = 1 << 20;
/// Maximum number of changes.
const MAX_CHANGES: usize = 64;
/// Maximum indentation that is inserted: more than [`super::MAX_DEPTH`] levels of any usual width.
const MAX_INDENTATION: usize = 1_024;
/// Characters that can be before the first key or value of a line.
const PREFIX: [char; 5] = [' ', '\t', '-', '?', ':'];

/// Returns a text with the value that `text` has for Kubernetes, without the first errors of the scanner; `None` if there is none.
pub(super) fn repaired(text: &str) -> Option<String> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let prefix = |line: &str| line.len() - line.trim_start_matches(PREFIX).len();
    let indentation = text.lines().map(prefix).max().filter(|longest| *longest < MAX_INDENTATION)? + 1;
    let Changes { mut changed, flow_lines } = change(text, indentation, None);
    if let Some(line) = first_outside_flow(&changed, &flow_lines) {
        // Outside of a flow collection, a tab is no indentation for Kubernetes either: the error is there.
        let changes = change(text, indentation, Some(line));
        changed = changes.changed;
        if first_outside_flow(&changed, &changes.flow_lines).is_some() {
            return None;
        }
    }
    (changed != text).then_some(changed)
}

/// A changed text.
struct Changes {
    changed: String,
    /// Lines whose tabs are spaces now, which only flow collections permit.
    flow_lines: Vec<usize>,
}

/// Changes the text up to the first error that Kubernetes reports, too, or the tabs on line `last`.
fn change(text: &str, indentation: usize, last: Option<usize>) -> Changes {
    let mut changes = Changes { changed: text.to_owned(), flow_lines: Vec::new() };
    for _ in 0..MAX_CHANGES {
        let Some(error) = first_error(&changes.changed) else { break };
        let marker = error.marker();
        let text = &mut changes.changed;
        let Some(offset) = marker.byte_offset().filter(|offset| text.is_char_boundary(*offset)) else { break };
        match error.kind() {
            ErrorKind::CommentNotSeparated if text[offset..].starts_with('#') => text.insert(offset, ' '),
            ErrorKind::InvalidQuotedScalarIndent | ErrorKind::TabInIndentation if !is_marker(text, offset) => {
                indent(text, offset, indentation);
            }
            ErrorKind::TabInBlockIndentation if last != Some(marker.line()) => {
                indent(text, offset, indentation);
                changes.flow_lines.push(marker.line());
            }
            _ => break,
        }
    }
    changes
}

/// Returns true if the line at `offset` starts or ends a document.
fn is_marker(text: &str, offset: usize) -> bool {
    let start = memrchr(b'\n', &text.as_bytes()[..offset]).map_or(0, |line_break| line_break + 1);
    let rest = text[start..].strip_prefix("---").or_else(|| text[start..].strip_prefix("..."));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn first_error(text: &str) -> Option<ScanError> {
    Parser::new_from_str_with_options(text, options()).find_map(Result::err)
}

/// Replaces the blanks at the start of the line at `offset`.
fn indent(text: &mut String, offset: usize, indentation: usize) {
    let start = memrchr(b'\n', &text.as_bytes()[..offset]).map_or(0, |line_break| line_break + 1);
    let end = memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |length| start + length);
    let blanks = end - start - text[start..end].trim_start_matches([' ', '\t']).len();
    text.replace_range(start..start + blanks, &" ".repeat(indentation));
}

/// Returns the first of `lines` that does not continue a flow collection of `text`.
fn first_outside_flow(text: &str, lines: &[usize]) -> Option<usize> {
    if lines.is_empty() {
        return None;
    }
    let (mut flow, mut collections) = (FlowDepth::default(), Vec::new());
    for (event, span) in Parser::new_from_str_with_options(text, options()).map_while(Result::ok) {
        if matches!(event, Event::StreamEnd) {
            break;
        }
        collections.extend(flow.pass(&event, &span));
    }
    let contains = |line: &usize| {
        let compare = |(first, last): &(usize, usize)| {
            if *last < *line {
                Ordering::Less
            } else if *first >= *line {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        };
        collections.binary_search_by(compare).is_ok()
    };
    lines.iter().find(|line| !contains(line)).copied()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::{parse, parse_manifest};

    #[rstest]
    #[case::double_quoted("a:\n  b: \"{c:\n  d}\"\ne: 1\n", json!({"a": {"b": "{c: d}"}, "e": 1}))]
    #[case::single_quoted("a:\n  b: 'c\n d'\n", json!({"a": {"b": "c d"}}))]
    #[case::column_0("a:\n  b: \"c\nd\"\n", json!({"a": {"b": "c d"}}))]
    #[case::several_lines("a:\n  b: 'c\n\n d\n\n\n  e'\n", json!({"a": {"b": "c\nd\n\ne"}}))]
    #[case::several_scalars("a:\n  - \"b\n  c\"\n  - \"d\n e\"\n", json!({"a": ["b c", "d e"]}))]
    #[case::escaped_line_break("a:\n  b: \"c\\\n  d\n e\"\n", json!({"a": {"b": "cd e"}}))]
    #[case::comment_in_a_text("a:\n  b: \"c\n# d\"\n", json!({"a": {"b": "c # d"}}))]
    #[case::windows("a:\r\n  b: \"c\r\n d\"\r\n", json!({"a": {"b": "c d"}}))]
    #[case::tab_in_a_quoted_scalar("a:\n  b: \"c\n\td\"\n", json!({"a": {"b": "c d"}}))]
    #[case::blank_line_with_a_tab("a:\n  b: \"c\n\t\n    d\"\n", json!({"a": {"b": "c\nd"}}))]
    #[case::tabs_in_a_flow_collection("a:\n  b: [\n\t{c: 1,\n\td: 2}\n\t]\n", json!({"a": {"b": [{"c": 1, "d": 2}]}}))]
    #[case::comment_after_a_flow_collection("a: {b: c}# d\ne: [f]# g\n", json!({"a": {"b": "c"}, "e": ["f"]}))]
    #[case::comment_in_a_flow_collection("a: {# b\n  c: 'd',# e\n  f: g}\n", json!({"a": {"c": "d", "f": "g"}}))]
    #[case::comment_after_a_quoted_scalar("a: \"b\"# c\nd: 'e'#\n", json!({"a": "b", "d": "e"}))]
    #[case::comment_after_the_header_of_a_block("a: |# b\n  c\n", json!({"a": "c\n"}))]
    fn texts_that_kubernetes_accepts_are_read(#[case] text: &str, #[case] expected: Value) {
        assert_eq!(parse(text), Ok(expected.clone()));
        assert_eq!(parse_manifest(text), Ok((expected, Vec::new())));
    }

    #[rstest]
    #[case::block_indentation("a:\n\tb: 1\n", 2, "tab")]
    #[case::block_below_a_flow_collection("a: [\n\tb]\nc:\n\td: 1\n", 4, "tab")]
    #[case::plain_scalar("a:\n  b: c\n\td\n", 2, "tab")]
    #[case::unclosed_quotes("a:\n  b: \"c\n  d\n", 2, "")]
    #[case::next_error("a:\n  b: \"c\n  d\"\ne: [\n", 4, "")]
    #[case::separator_in_a_quoted_scalar("a: \"b\n---\nc\"\n", 2, "")]
    fn other_texts_are_errors(#[case] text: &str, #[case] line: u64, #[case] message: &str) {
        let error = parse(text).unwrap_err();
        assert!(error.line == line && error.message.contains(message), "{error}");
    }

    #[test]
    fn changes_are_limited() {
        let text = |count: usize| "- - \"a\n- b\"\n".repeat(count);
        assert!(parse(&text(super::MAX_CHANGES)).is_ok());
        assert!(parse(&text(super::MAX_CHANGES + 1)).is_err());
        let long = format!("{}c: {}\n", text(1), "x".repeat(super::MAX_LENGTH));
        assert!(parse(&long).is_err());
    }
}
