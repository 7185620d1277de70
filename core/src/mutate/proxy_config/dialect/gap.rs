//! Scans the text between scalars: indicators, comments and whitespace.

use granit_parser::{Event, ScalarStyle};

use super::super::outline::SpannedEvent;
use super::super::{BYTE_ORDER_MARK, Refusal};

/// Scans the text from scalar to scalar.
pub(super) struct GapScanner<'t> {
    text: &'t str,
    /// Current offset.
    at: usize,
    /// Number of open flow collections.
    depth: usize,
    /// True within a block collection, where tabs must not indent lines, not even those of nested flow collections.
    in_block: bool,
    /// True if the current line contains more than indentation and dashes, so that later tabs are not indentation.
    is_past_indentation: bool,
    /// Set after the start of the document. Istio's parser rejects a document end before it.
    has_begun: bool,
    /// Key whose colon has not been scanned yet.
    key: Option<Key>,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Plain,
    /// In a flow mapping, its colon need not be followed by whitespace.
    Quoted,
}

impl<'t> GapScanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let at = text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len();
        Self { text, at, depth: 0, in_block: false, is_past_indentation: false, has_begun: false, key: None }
    }

    pub(super) fn in_flow(&self) -> bool {
        self.depth > 0
    }

    /// Checks the text up to the offset `end`.
    pub(super) fn check_until(&mut self, end: usize) -> Result<(), Refusal> {
        while self.at < end {
            self.at += self.check_token()?;
        }
        Ok(())
    }

    /// Skips a scalar or an alias.
    pub(super) fn skip(&mut self, item: &SpannedEvent<'_>, is_key: bool) {
        // The parser places an absent value, whose range is empty, before the colon or comma that implies it.
        if item.range.end > self.at {
            self.at = item.range.end;
            self.has_begun = true;
            // A block scalar may end within the indentation of a line.
            self.is_past_indentation =
                !matches!(item.event, Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..));
        }
        if is_key {
            let quoted = self.text[item.range.clone()].starts_with(['"', '\'']);
            self.key = Some(if quoted { Key::Quoted } else { Key::Plain });
        }
    }

    /// Checks the token at the current offset and returns its length.
    fn check_token(&mut self) -> Result<usize, Refusal> {
        let rest = &self.text.as_bytes()[self.at..];
        let before = &self.text[..self.at];
        let is_line_start = before.ends_with('\n') || before.trim_start_matches(BYTE_ORDER_MARK).is_empty();
        let length = match rest[0] {
            b' ' | b'\r' => return Ok(1),
            b'\t' if self.is_past_indentation || self.in_flow() && !self.in_block => return Ok(1),
            b'\t' => return Err(Refusal::Tab),
            b':' => return self.check_colon(&rest[1..]),
            _ if self.key.is_some() => return Err(Refusal::Key),
            b'\n' => {
                self.is_past_indentation = false;
                return Ok(1);
            }
            b'#' => return Ok(line_length(rest)),
            b'-' if is_line_start && rest.starts_with(b"---") => 3,
            b'.' if is_line_start && self.has_begun && rest.starts_with(b"...") => 3,
            b'-' if is_blank(rest.get(1)) => {
                self.in_block = true;
                return Ok(1);
            }
            b'{' | b'[' => {
                self.depth += 1;
                1
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                1
            }
            b',' => 1,
            b'|' | b'>' => header_length(rest)?,
            b'&' => anchor_length(rest)?,
            _ => return Err(Refusal::Ambiguous),
        };
        self.is_past_indentation = true;
        self.has_begun = true;
        Ok(length)
    }

    fn check_colon(&mut self, rest: &[u8]) -> Result<usize, Refusal> {
        let key = self.key.take().ok_or(Refusal::Key)?;
        let is_adjacent = self.in_flow() && key == Key::Quoted;
        self.is_past_indentation = true;
        self.in_block |= !self.in_flow();
        if is_adjacent || is_blank(rest.first()) { Ok(1) } else { Err(Refusal::Key) }
    }
}

/// Returns true if Istio's parser reads `name` completely as the name of an anchor.
pub(super) fn is_anchor_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_anchor_byte)
}

fn is_anchor_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_blank(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

/// Returns the length of the header of a block scalar.
fn header_length(rest: &[u8]) -> Result<usize, Refusal> {
    let length = 1 + rest[1..].iter().take_while(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9')).count();
    if is_blank(rest.get(length)) { Ok(length) } else { Err(Refusal::Ambiguous) }
}

fn anchor_length(rest: &[u8]) -> Result<usize, Refusal> {
    let length = 1 + rest[1..].iter().take_while(|&&byte| is_anchor_byte(byte)).count();
    if length > 1 && is_blank(rest.get(length)) { Ok(length) } else { Err(Refusal::Aliases) }
}
