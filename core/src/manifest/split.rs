//! Splits a stream into documents without reading more than one of them into memory.
//!
//! A line that starts with `---` ends a document, as kubectl has it, wherever it stands. Where a document starts like
//! a JSON object, balanced braces that another brace follows are documents of their own: JSON values one after the
//! other. Nothing is parsed here; that the two rules never disagree follows from JSON, whose strings hold no line
//! breaks.

use std::io::{self, Read};

use memchr::memchr;

use super::MAX_DOCUMENT;
use super::braces::Braces;
use super::encoding::HEAD;
use super::window::{SEPARATOR, Window};

/// The stream and where in it the next document starts.
pub(super) struct Splitter<R> {
    window: Window<R>,
    /// Index of the document that comes next.
    document: usize,
    /// Whether the window stands behind a JSON value, so that no separator is needed before the next one.
    behind_value: bool,
}

/// A document that is not empty.
pub(super) struct Part<'buffer> {
    /// Index in the source, empty documents counted.
    pub(super) document: usize,
    /// Line of the source on which it starts.
    pub(super) line: u64,
    /// Its text, from the first line that is no comment.
    pub(super) text: Result<&'buffer [u8], Fault>,
}

/// Why a document has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    TooLarge,
    Separator,
}

impl<R: Read> Splitter<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { window: Window::new(reader), document: 0, behind_value: false }
    }

    /// The first bytes of a stream from which nothing was taken yet.
    pub(super) fn head(&mut self) -> io::Result<&[u8]> {
        self.window.peek(HEAD)
    }

    /// Passes over the first bytes.
    pub(super) fn skip(&mut self, length: usize) {
        self.window.take(length);
    }

    /// Index of the document that comes next.
    pub(super) fn document(&self) -> usize {
        self.document
    }

    /// The next document that is not empty.
    pub(super) fn next(&mut self) -> io::Result<Option<Part<'_>>> {
        loop {
            if self.window.is_separated() && self.window.text().is_empty() {
                self.window.enter_next();
                self.behind_value = false;
            }
            // What stands before the first separator is only a document when it holds something.
            let mut separated = false;
            if !self.behind_value && self.window.peek(SEPARATOR.len() + 1)?.starts_with(SEPARATOR) {
                let follower = self.window.text().get(SEPARATOR.len());
                if follower.is_some_and(|byte| !byte.is_ascii_whitespace() && *byte != b'#') {
                    return self.faulty(Fault::Separator).map(Some);
                }
                self.window.take(SEPARATOR.len());
                separated = true;
            }
            match self.skip_blank(separated)? {
                Some(b'{') => return self.values().map(Some),
                Some(_) => return self.rest().map(Some),
                None if self.window.is_separated() => self.document += usize::from(separated),
                None => return Ok(None),
            }
        }
    }

    /// Passes over blank lines and comments, and over directives before the first separator; the first byte of what
    /// comes then, `None` at the end of the part.
    fn skip_blank(&mut self, separated: bool) -> io::Result<Option<u8>> {
        // A comment may be of any length and need not fit in the window.
        let mut in_comment = false;
        loop {
            let text = self.window.text();
            let line_break = memchr(b'\n', text);
            let line = &text[..line_break.unwrap_or(text.len())];
            let length = line.len();
            let first = line.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
            let complete = line_break.is_some() || self.window.is_complete();
            in_comment |= first == Some(b'#') || line.starts_with(b"%") && !separated && self.document == 0;
            match first {
                _ if in_comment => _ = self.window.take(length),
                // Two dashes may yet become a separator.
                Some(first) if complete || length >= SEPARATOR.len() => return Ok(Some(first)),
                // Indentation without end: `rest` refuses it.
                None if length > MAX_DOCUMENT => return Ok(Some(b' ')),
                _ => {}
            }
            let passed = if in_comment { 0 } else { length };
            if line_break.is_some() {
                self.window.take(passed + 1);
                in_comment = false;
            } else if complete {
                self.window.take(passed);
                return Ok(None);
            } else {
                self.window.fill()?;
            }
        }
    }

    /// All up to the next separator.
    fn rest(&mut self) -> io::Result<Part<'_>> {
        loop {
            let length = self.window.text().len();
            if length > MAX_DOCUMENT {
                return self.faulty(Fault::TooLarge);
            }
            if self.window.is_complete() {
                return Ok(self.part(length, false));
            }
            self.window.fill()?;
        }
    }

    /// The JSON value that starts here, when another value or the end of the part follows; else all of the part.
    fn values(&mut self) -> io::Result<Part<'_>> {
        let mut braces = Braces::default();
        let mut scanned = 0;
        let mut value = None;
        loop {
            let text = self.window.text();
            if value.is_none() {
                value = braces.close(&text[scanned..]).map(|length| scanned + length);
                scanned = value.unwrap_or(text.len());
            }
            if value.unwrap_or(text.len()) > MAX_DOCUMENT {
                return self.oversized_value(braces, scanned, value.is_some());
            }
            if let Some(length) = value {
                let follower = text[length..].iter().find(|byte| !byte.is_ascii_whitespace());
                let ends = follower == Some(&b'{') || follower.is_none() && self.window.is_complete();
                if ends && braces.are_json() {
                    return Ok(self.part(length, true));
                }
                if ends || follower.is_some() || text.len() > MAX_DOCUMENT {
                    return self.rest();
                }
            } else if self.window.is_complete() {
                return self.rest();
            }
            self.window.fill()?;
        }
    }

    /// Passes over a JSON value that is too large; its braces have been followed for `scanned` bytes.
    fn oversized_value(&mut self, mut braces: Braces, mut scanned: usize, closed: bool) -> io::Result<Part<'_>> {
        let (document, line) = (self.document, self.window.line());
        let mut end = closed.then_some(scanned);
        while end.is_none() {
            match self.window.discard()? {
                Some(kept) => scanned = kept,
                None => break,
            }
            end = braces.close(&self.window.text()[scanned..]).map(|length| scanned + length);
        }
        self.window.take(end.unwrap_or_default());
        self.behind_value = true;
        self.document += 1;
        Ok(Part { document, line, text: Err(Fault::TooLarge) })
    }

    /// Passes over all up to the next separator.
    fn faulty(&mut self, fault: Fault) -> io::Result<Part<'_>> {
        let (document, line) = (self.document, self.window.line());
        while self.window.discard()?.is_some() {}
        self.document += 1;
        Ok(Part { document, line, text: Err(fault) })
    }

    /// Hands out the next `length` bytes: one JSON value, or all of the part.
    fn part(&mut self, length: usize, is_value: bool) -> Part<'_> {
        let (document, line) = (self.document, self.window.line());
        self.document += 1;
        self.behind_value = is_value;
        Part { document, line, text: Ok(self.window.take(length)) }
    }
}
