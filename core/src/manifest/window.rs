//! A bounded buffer over a stream, limited to the current section. Lines that start with `---` separate sections.

use std::io::{self, Read};

use memchr::{memchr_iter, memmem};

/// Start of the line that separates two sections.
pub(super) const SEPARATOR: &[u8] = b"---";

const SEPARATOR_LINE: &[u8] = b"\n---";

/// Initial and maximum number of bytes per read; it grows with the size of the document.
const CHUNK: usize = 64 << 10;
const MAX_CHUNK: usize = 1 << 20;

/// Buffered window of a stream. Invariant: the buffer retains the bytes from the smaller of `start` and `searched`, so
/// that a separator line is found even if its first bytes were consumed before the others were read.
pub(super) struct Window<R> {
    reader: R,
    at_end: bool,
    buffer: Vec<u8>,
    /// Offset of the first byte that is not consumed.
    start: usize,
    /// Offset up to which the buffer has been searched for a separator line.
    searched: usize,
    /// Offset of the dashes of the separator line that ends the section.
    separator: Option<usize>,
    /// One-based line at `start`.
    line: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, at_end: false, buffer: Vec::new(), start: 0, searched: 0, separator: None, line: 1 }
    }

    /// Returns the remaining section, as far as it has been read.
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[self.start..self.separator.unwrap_or(self.buffer.len())]
    }

    /// Returns the remaining buffer, regardless of sections; at least `length` bytes unless the stream ends.
    pub(super) fn peek(&mut self, length: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.start < length && !self.at_end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..])
    }

    /// Returns true if [`Self::text`] contains the end of the section.
    pub(super) fn is_complete(&self) -> bool {
        self.separator.is_some() || self.at_end
    }

    /// Returns true if the end of the section has been read and is a separator, not the end of the stream.
    pub(super) fn ends_at_separator(&self) -> bool {
        self.separator.is_some()
    }

    /// Returns the one-based line of the first byte that is not consumed.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Consumes and returns `length` bytes.
    pub(super) fn consume(&mut self, length: usize) -> &[u8] {
        let consumed = self.start..self.start + length;
        self.line += memchr_iter(b'\n', &self.buffer[consumed.clone()]).count() as u64;
        self.start = consumed.end;
        &self.buffer[consumed]
    }

    /// Advances to the next section, which starts with its separator.
    pub(super) fn advance_section(&mut self) {
        self.separator = None;
        self.searched = self.searched.max(self.start + SEPARATOR.len()).min(self.buffer.len());
        self.find_separator();
    }

    /// Discards the buffered text of the section and reads more. Returns the number of bytes that were retained because
    /// they can be part of a separator line, or `None` at the end of the section.
    pub(super) fn discard(&mut self) -> io::Result<Option<usize>> {
        let length = self.text().len();
        if self.is_complete() {
            self.consume(length);
            return Ok(None);
        }
        let retained = length.min(self.buffer.len() - self.searched);
        self.consume(length - retained);
        self.fill()?;
        Ok(Some(retained))
    }

    /// Reads more bytes, after removing those that are no longer needed.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let obsolete = self.start.min(self.searched);
        self.buffer.drain(..obsolete);
        self.start -= obsolete;
        self.searched -= obsolete;
        self.separator = self.separator.map(|at| at - obsolete);
        let length = self.buffer.len();
        self.buffer.resize(length + length.clamp(CHUNK, MAX_CHUNK), 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        self.at_end = read? == 0;
        self.find_separator();
        Ok(())
    }

    fn find_separator(&mut self) {
        if self.separator.is_none() {
            let found = memmem::find(&self.buffer[self.searched..], SEPARATOR_LINE);
            self.separator = found.map(|at| self.searched + at + 1);
            let searched = self.separator.unwrap_or(self.buffer.len().saturating_sub(SEPARATOR.len()));
            self.searched = self.searched.max(searched);
        }
    }
}
