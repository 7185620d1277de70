//! The text between the scalars: indicators, comments and blanks.

use granit_parser::{Event, ScalarStyle};

use super::super::outline::Item;
use super::super::{BYTE_ORDER_MARK, Refusal};

/// Walks the text from scalar to scalar.
pub(super) struct Gaps<'t> {
    text: &'t str,
    at: usize,
    /// Flow collections that are open.
    depth: usize,
    /// Whether a block collection was seen: within it tabs do not indent, not even a flow collection's lines.
    in_block: bool,
    /// Whether more than dashes stands on the line so far: from there on a tab is no indentation.
    is_past_indentation: bool,
    /// Whether the document has begun; Istio's parser does not take the end of one that has not.
    has_begun: bool,
    /// The key that still lacks its colon.
    key: Option<Key>,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Plain,
    /// Within a flow mapping its colon needs no blank after it.
    Quoted,
}

impl<'t> Gaps<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let at = text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len();
        Self { text, at, depth: 0, in_block: false, is_past_indentation: false, has_begun: false, key: None }
    }

    pub(super) fn in_flow(&self) -> bool {
        self.depth > 0
    }

    /// Checks the gap that ends at `end`.
    pub(super) fn close(&mut self, end: usize) -> Result<(), Refusal> {
        while self.at < end {
            self.at += self.token()?;
        }
        Ok(())
    }

    /// Steps over a scalar or an alias.
    pub(super) fn skip(&mut self, item: &Item<'_>, is_key: bool) {
        // An absent value is placed in front of the colon or the comma that tells of it.
        if item.range.end > self.at {
            self.at = item.range.end;
            self.has_begun = true;
            // A block scalar may end within the blanks of a line.
            self.is_past_indentation =
                !matches!(item.event, Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..));
        }
        if is_key {
            let quoted = self.text[item.range.clone()].starts_with(['"', '\'']);
            self.key = Some(if quoted { Key::Quoted } else { Key::Plain });
        }
    }

    /// The length of what stands here.
    fn token(&mut self) -> Result<usize, Refusal> {
        let rest = &self.text.as_bytes()[self.at..];
        let before = &self.text[..self.at];
        let is_line_start = before.ends_with('\n') || before.trim_start_matches(BYTE_ORDER_MARK).is_empty();
        let length = match rest[0] {
            b' ' | b'\r' => return Ok(1),
            b'\t' if self.is_past_indentation || self.in_flow() && !self.in_block => return Ok(1),
            b'\t' => return Err(Refusal::Tab),
            b':' => return self.colon(&rest[1..]),
            _ if self.key.is_some() => return Err(Refusal::Key),
            b'\n' => {
                self.is_past_indentation = false;
                return Ok(1);
            }
            b'#' => return Ok(line(rest)),
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
            b'|' | b'>' => header(rest)?,
            b'&' => anchor(rest)?,
            _ => return Err(Refusal::Ambiguous),
        };
        self.is_past_indentation = true;
        self.has_begun = true;
        Ok(length)
    }

    fn colon(&mut self, rest: &[u8]) -> Result<usize, Refusal> {
        let key = self.key.take().ok_or(Refusal::Key)?;
        let is_adjacent = self.in_flow() && key == Key::Quoted;
        self.is_past_indentation = true;
        self.in_block |= !self.in_flow();
        if is_adjacent || is_blank(rest.first()) { Ok(1) } else { Err(Refusal::Key) }
    }
}

/// Whether Istio's parser takes `name` for the name of an anchor as a whole.
pub(super) fn is_anchor_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_anchor_byte)
}

fn is_anchor_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_blank(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

/// The length of the head of a block scalar.
fn header(rest: &[u8]) -> Result<usize, Refusal> {
    let length = 1 + rest[1..].iter().take_while(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9')).count();
    if is_blank(rest.get(length)) { Ok(length) } else { Err(Refusal::Ambiguous) }
}

fn anchor(rest: &[u8]) -> Result<usize, Refusal> {
    let length = 1 + rest[1..].iter().take_while(|&&byte| is_anchor_byte(byte)).count();
    if length > 1 && is_blank(rest.get(length)) { Ok(length) } else { Err(Refusal::Aliases) }
}
