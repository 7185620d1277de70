//! Splits a stream into documents while holding only one of them in memory.
//!
//! As in kubectl, every line that starts with `---` ends a section of the stream. A section is one document, or, if it
//! starts like a JSON object, a sequence of JSON objects, which are found by balancing braces. The two rules never
//! conflict, because JSON strings do not contain line breaks. Documents are not parsed here.

use std::io::{self, Read};

use memchr::memchr;

use super::MAX_DOCUMENT;
use super::braces::BraceScanner;
use super::encoding::HEAD_LENGTH;
use super::list::{
    LINE_START, List, MAX_HEADER, Next, Syntax, continues_list, is_output, is_tail_line, next_document, starts_document,
};
use super::window::{SEPARATOR, Window};
use crate::yaml::SPLIT_ADVICE;

/// Splits a stream into documents.
pub(super) struct Splitter<R> {
    window: Window<R>,
    /// Index of the next document.
    document: usize,
    /// True if the window starts after a JSON object, so that the next document needs no separator.
    after_json: bool,
    /// True if lists of kubectl are split into their items.
    splits_lists: bool,
    /// List whose items are being read.
    list: Option<List>,
}

/// An unparsed document that is not empty.
pub(super) struct RawDocument<'buffer> {
    /// Index in the source, including empty documents.
    pub(super) document: usize,
    /// Line of the source on which it starts.
    pub(super) line: u64,
    /// Text from the first line that is not a comment.
    pub(super) text: Result<&'buffer [u8], SplitError>,
    /// Position in the list of which the document is an item.
    pub(super) item: Option<RawItem<'buffer>>,
}

/// Position in a list.
#[derive(Clone, Copy)]
pub(super) struct RawItem<'buffer> {
    pub(super) index: usize,
    /// `apiVersion` and kind of an item without its own.
    pub(super) inherited: Option<(&'buffer str, &'buffer str)>,
}

/// Reason why a document has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SplitError {
    /// The document exceeds [`MAX_DOCUMENT`].
    #[error("exceeds the limit of {} MiB: {SPLIT_ADVICE}", MAX_DOCUMENT >> 20)]
    TooLarge,
    /// The separator is followed by text.
    #[error("text follows `---`: kubectl accepts only a comment there: move the text to the next line")]
    InvalidSeparator,
    /// The document starts with a directive.
    #[error("kubectl rejects directives such as `%YAML`: remove the line, and the `---` after it")]
    Directive,
    /// A list contains something else than objects.
    #[error("an item of the list is not an object: the items after it are not read")]
    InvalidItem,
    /// The text ends within a list.
    #[error("the list is incomplete: the file is truncated")]
    TruncatedItem,
    /// A line at the start of which no item and no field of a list is, such as the output of another command.
    #[error(
        "unexpected text at the start of the line: the lines of a list are indented, and `---` separates documents"
    )]
    UnexpectedLine,
    /// Lines of a command before an object.
    #[error(
        "the line is no part of an object, but an error of a command, a prompt or a code fence: check whether the command failed, \
         and remove the line"
    )]
    Output,
}

impl<R: Read> Splitter<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { window: Window::new(reader), document: 0, after_json: false, splits_lists: false, list: None }
    }

    /// Splits lists of kubectl into their items.
    pub(super) fn splitting_lists(self, splits_lists: bool) -> Self {
        Self { splits_lists, ..self }
    }

    /// Returns the first bytes of a stream that has not been consumed.
    pub(super) fn head(&mut self) -> io::Result<&[u8]> {
        self.window.peek(HEAD_LENGTH)
    }

    /// Skips bytes.
    pub(super) fn skip(&mut self, length: usize) {
        self.window.consume(length);
    }

    /// Returns the index of the next document.
    pub(super) fn document(&self) -> usize {
        self.document
    }

    /// Returns the next document that is not empty.
    pub(super) fn next(&mut self) -> io::Result<Option<RawDocument<'_>>> {
        loop {
            if self.list.is_some() {
                match self.find_item()? {
                    Some(Ok((start, end))) => return Ok(Some(self.take_item(start, end))),
                    Some(Err(SplitError::UnexpectedLine)) => return self.skip_lines_of_list().map(Some),
                    Some(Err(error)) => {
                        // The end of the item is not known.
                        self.list = None;
                        return self.skip_section(error).map(Some);
                    }
                    None => continue,
                }
            }
            if self.window.ends_at_separator() && self.window.text().is_empty() {
                self.window.advance_section();
                self.after_json = false;
            }
            // The text before the first separator is only a document if it is not empty.
            let mut has_separator = false;
            if !self.after_json && self.window.peek(SEPARATOR.len() + 1)?.starts_with(SEPARATOR) {
                if self.text_follows_separator()? {
                    return self.skip_section(SplitError::InvalidSeparator).map(Some);
                }
                self.window.consume(SEPARATOR.len());
                has_separator = true;
            }
            match self.skip_blank()? {
                Some(b'%') if self.window.text().starts_with(b"%") => {
                    return self.skip_section(SplitError::Directive).map(Some);
                }
                Some(_) if self.splits_lists && self.starts_output()? => return self.skip_output().map(Some),
                Some(first) if self.splits_lists && self.starts_list(first)? => {}
                Some(b'{') => return self.json_object().map(Some),
                Some(_) => return self.section().map(Some),
                None if self.window.ends_at_separator() => self.document += usize::from(has_separator),
                None => return Ok(None),
            }
        }
    }

    /// Returns true if the separator at the start of the section is followed by something else than a comment.
    fn text_follows_separator(&mut self) -> io::Result<bool> {
        loop {
            let (text, is_complete) = (self.window.text(), self.window.is_complete());
            let rest = text.get(SEPARATOR.len()..).unwrap_or_default();
            match rest.iter().find(|byte| **byte == b'\n' || !byte.is_ascii_whitespace()) {
                Some(byte) => return Ok(!matches!(byte, b'\n' | b'#')),
                None if is_complete || text.len() > MAX_DOCUMENT => return Ok(!is_complete),
                None => self.window.fill()?,
            }
        }
    }

    /// Skips blank lines and comments. Returns the first byte of the next line, or `None` at the end of the section.
    fn skip_blank(&mut self) -> io::Result<Option<u8>> {
        // A comment can be longer than the window.
        let mut in_comment = false;
        loop {
            let text = self.window.text();
            let line_break = memchr(b'\n', text);
            let line = &text[..line_break.unwrap_or(text.len())];
            let length = line.len();
            let first = line.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
            let complete = line_break.is_some() || self.window.is_complete();
            in_comment |= first == Some(b'#');
            match first {
                _ if in_comment => _ = self.window.consume(length),
                // Two dashes can be the start of a separator.
                Some(first) if complete || length >= SEPARATOR.len() => return Ok(Some(first)),
                // `section` rejects indentation that exceeds the limit.
                None if length > MAX_DOCUMENT => return Ok(Some(b' ')),
                _ => {}
            }
            let consumed = if in_comment { 0 } else { length };
            if line_break.is_some() {
                self.window.consume(consumed + 1);
                in_comment = false;
            } else if complete {
                self.window.consume(consumed);
                return Ok(None);
            } else {
                self.window.fill()?;
            }
        }
    }

    /// Returns the remaining section as one document. In a dump, another one may follow without a separator.
    fn section(&mut self) -> io::Result<RawDocument<'_>> {
        loop {
            let text = self.window.text();
            let length = text.len();
            if let Some(end) = next_document(text).filter(|end| self.splits_lists && *end <= MAX_DOCUMENT) {
                return Ok(self.take_document(end, false));
            }
            if length > MAX_DOCUMENT {
                return self.skip_section(SplitError::TooLarge);
            }
            if self.window.is_complete() {
                return Ok(self.take_document(length, false));
            }
            self.window.fill()?;
        }
    }

    /// Returns the JSON object that starts here if another object or the end of the section follows, else the remaining
    /// section.
    fn json_object(&mut self) -> io::Result<RawDocument<'_>> {
        let mut braces = BraceScanner::default();
        let mut scanned = 0;
        let mut end = None;
        loop {
            let text = self.window.text();
            if end.is_none() {
                end = braces.find_end(&text[scanned..]).map(|length| scanned + length);
                scanned = end.unwrap_or(text.len());
            }
            if end.unwrap_or(text.len()) > MAX_DOCUMENT {
                return self.skip_json_object(braces, scanned, end.is_some());
            }
            if let Some(length) = end {
                let next_byte = text[length..].iter().find(|byte| !byte.is_ascii_whitespace());
                let is_document = next_byte == Some(&b'{') || next_byte.is_none() && self.window.is_complete();
                if is_document && braces.is_json() {
                    return Ok(self.take_document(length, true));
                }
                if is_document || next_byte.is_some() || text.len() > MAX_DOCUMENT {
                    return self.section();
                }
            } else if self.window.is_complete() {
                return self.section();
            }
            self.window.fill()?;
        }
    }

    /// Skips a JSON object that is too large, of which `scanned` bytes have been scanned for braces.
    fn skip_json_object(
        &mut self,
        mut braces: BraceScanner,
        mut scanned: usize,
        closed: bool,
    ) -> io::Result<RawDocument<'_>> {
        let (document, line) = (self.document, self.window.line());
        let mut end = closed.then_some(scanned);
        while end.is_none() {
            match self.window.discard()? {
                Some(retained) => scanned = retained,
                None => break,
            }
            end = braces.find_end(&self.window.text()[scanned..]).map(|length| scanned + length);
        }
        self.window.consume(end.unwrap_or_default());
        self.after_json = true;
        self.document += 1;
        Ok(RawDocument { document, line, text: Err(SplitError::TooLarge), item: None })
    }

    /// Returns true if the next line is the output of a command.
    fn starts_output(&mut self) -> io::Result<bool> {
        self.window.peek(LINE_START)?;
        Ok(is_output(self.window.text()))
    }

    /// Skips the output of a command, and returns it as an invalid document. The object after it is read.
    fn skip_output(&mut self) -> io::Result<RawDocument<'_>> {
        let (document, line) = (self.document, self.window.line());
        self.skip_lines(|line| !is_output(line) && !line.trim_ascii().is_empty())?;
        self.document += usize::from(self.window.text().is_empty());
        Ok(RawDocument { document, line, text: Err(SplitError::Output), item: None })
    }

    /// Recognizes a list whose first byte is `first`, and consumes the text before its items.
    fn starts_list(&mut self, first: u8) -> io::Result<bool> {
        self.window.peek(MAX_HEADER)?;
        let text = self.window.text();
        let found = if first == b'{' { List::json(text) } else { List::yaml(text) };
        let Some((list, length)) = found else { return Ok(false) };
        self.window.consume(length);
        self.list = Some(list);
        Ok(true)
    }

    /// Finds the next item of the list. Returns `None` at its end, after consuming the rest of it.
    fn find_item(&mut self) -> io::Result<Option<Result<(usize, usize), SplitError>>> {
        loop {
            let Some(list) = &self.list else { return Ok(None) };
            let (text, is_complete) = (self.window.text(), self.window.is_complete());
            match list.next(text) {
                Next::Item { start, end } if end - start <= MAX_DOCUMENT => return Ok(Some(Ok((start, end)))),
                Next::End(start) => {
                    let syntax = list.syntax;
                    self.window.consume(start);
                    if syntax == Syntax::Yaml {
                        return self.end_yaml_list();
                    }
                    self.end_json_list()?;
                    return Ok(None);
                }
                Next::Unexpected(start) => {
                    self.window.consume(start);
                    return Ok(Some(Err(SplitError::UnexpectedLine)));
                }
                Next::Incomplete if !is_complete && text.len() <= MAX_DOCUMENT => self.window.fill()?,
                Next::Item { .. } => return Ok(Some(Err(SplitError::TooLarge))),
                Next::Incomplete if text.len() > MAX_DOCUMENT => return Ok(Some(Err(SplitError::TooLarge))),
                Next::Incomplete => return Ok(Some(Err(SplitError::TruncatedItem))),
                Next::Invalid => return Ok(Some(Err(SplitError::InvalidItem))),
            }
        }
    }

    /// Returns the item from `start` to `end`.
    fn take_item(&mut self, start: usize, end: usize) -> RawDocument<'_> {
        self.window.consume(start);
        let (document, line) = (self.document, self.window.line());
        let text = Ok(self.window.consume(end - start));
        let item = self.list.as_mut().map(|list| {
            list.index += 1;
            let inherited = list.inherited.as_ref().map(|(version, kind)| (version.as_str(), kind.as_str()));
            RawItem { index: list.index - 1, inherited }
        });
        RawDocument { document, line, text, item }
    }

    /// Consumes the fields after the items of a list in YAML. Another document may follow them without a separator, as after
    /// `kubectl get >> FILE`. Returns an error at a line that belongs to neither.
    fn end_yaml_list(&mut self) -> io::Result<Option<Result<(usize, usize), SplitError>>> {
        self.skip_lines(|line| !is_tail_line(line))?;
        let text = self.window.text();
        if !text.is_empty() && !starts_document(text) {
            return Ok(Some(Err(SplitError::UnexpectedLine)));
        }
        self.list = None;
        self.document += 1;
        Ok(None)
    }

    /// Skips an unexpected line and those after it, up to the next item, field of the list or document, and returns them as an
    /// invalid item.
    fn skip_lines_of_list(&mut self) -> io::Result<RawDocument<'_>> {
        let (document, line) = (self.document, self.window.line());
        let text = self.window.text();
        let error = if starts_document(text) { SplitError::TruncatedItem } else { SplitError::UnexpectedLine };
        self.skip_lines(continues_list)?;
        let text = self.window.text();
        if text.is_empty() || starts_document(text) {
            self.list = None;
            self.document += 1;
        }
        Ok(RawDocument { document, line, text: Err(error), item: None })
    }

    /// Consumes lines of the section up to one whose start `is_end` accepts.
    fn skip_lines(&mut self, is_end: impl Fn(&[u8]) -> bool) -> io::Result<()> {
        let mut is_start = true;
        loop {
            let (text, is_complete) = (self.window.text(), self.window.is_complete());
            let line_break = memchr(b'\n', text);
            let line = &text[..line_break.unwrap_or(text.len())];
            let length = line.len();
            if is_start && (line_break.is_some() || is_complete || length >= LINE_START) {
                if is_end(line) {
                    return Ok(());
                }
                is_start = false;
            }
            if line_break.is_some() {
                self.window.consume(length + 1);
                is_start = true;
            } else if is_complete {
                self.window.consume(length);
                return Ok(());
            } else {
                // The start of a line is kept until it can be compared.
                self.window.consume(if is_start { 0 } else { length });
                self.window.fill()?;
            }
        }
    }

    /// Consumes the fields after the items of a list in JSON.
    fn end_json_list(&mut self) -> io::Result<()> {
        self.list = None;
        self.document += 1;
        let mut braces = BraceScanner::within_object();
        let mut scanned = 0;
        loop {
            if let Some(length) = braces.find_end(&self.window.text()[scanned..]) {
                self.window.consume(scanned + length);
                self.after_json = true;
                return Ok(());
            }
            match self.window.discard()? {
                Some(retained) => scanned = retained,
                None => return Ok(()),
            }
        }
    }

    /// Skips the remaining section, and returns it as an invalid document.
    fn skip_section(&mut self, error: SplitError) -> io::Result<RawDocument<'_>> {
        let (document, line) = (self.document, self.window.line());
        while self.window.discard()?.is_some() {}
        self.document += 1;
        Ok(RawDocument { document, line, text: Err(error), item: None })
    }

    /// Returns the next `length` bytes as a document: a JSON object, or the remaining section.
    fn take_document(&mut self, length: usize, is_json: bool) -> RawDocument<'_> {
        let (document, line) = (self.document, self.window.line());
        self.document += 1;
        self.after_json = is_json;
        RawDocument { document, line, text: Ok(self.window.consume(length)), item: None }
    }
}
