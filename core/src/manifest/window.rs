//! A bounded view of a stream that knows where the current part ends.

use std::io::{self, Read};

use memchr::{memchr_iter, memmem};

/// What the line between two parts starts with.
pub(super) const SEPARATOR: &[u8] = b"---";

const SEPARATOR_LINE: &[u8] = b"\n---";

/// Bytes asked of the reader at a time, at first and when a document turns out to be a large one.
const CHUNK: usize = 64 << 10;
const MAX_CHUNK: usize = 1 << 20;

/// The part of a stream that is held. Invariant: the bytes from the smaller of `start` and `searched` on are kept, so
/// that a separator line is found even when its first bytes were passed before the others were read.
pub(super) struct Window<R> {
    reader: R,
    ended: bool,
    buffer: Vec<u8>,
    /// Where the rest of the part starts in the buffer.
    start: usize,
    /// No separator line of the part begins before.
    searched: usize,
    /// The dashes of the separator line that ends the part.
    separator: Option<usize>,
    /// Line of `start`, counted from 1.
    line: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, ended: false, buffer: Vec::new(), start: 0, searched: 0, separator: None, line: 1 }
    }

    /// The rest of the part, as far as it is read.
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[self.start..self.separator.unwrap_or(self.buffer.len())]
    }

    /// The rest of the buffer, past the end of the part; at least `length` bytes where the stream has them.
    pub(super) fn peek(&mut self, length: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.start < length && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..])
    }

    /// Whether [`Self::text`] is all that is left of the part.
    pub(super) fn is_complete(&self) -> bool {
        self.separator.is_some() || self.ended
    }

    /// Whether the part ends at a separator, and not, as far as is known, with the stream.
    pub(super) fn is_separated(&self) -> bool {
        self.separator.is_some()
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Passes over `length` bytes and hands them out.
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        let passed = self.start..self.start + length;
        self.line += memchr_iter(b'\n', &self.buffer[passed.clone()]).count() as u64;
        self.start = passed.end;
        &self.buffer[passed]
    }

    /// Goes on to the next part, whose separator stands first in it.
    pub(super) fn enter_next(&mut self) {
        self.separator = None;
        self.searched = self.searched.max(self.start + SEPARATOR.len()).min(self.buffer.len());
        self.search();
    }

    /// Gives up what is held of the part and reads on. How many bytes had to be kept, as they may belong to a separator
    /// line; `None` at the end of the part.
    pub(super) fn discard(&mut self) -> io::Result<Option<usize>> {
        let length = self.text().len();
        if self.is_complete() {
            self.take(length);
            return Ok(None);
        }
        let kept = length.min(self.buffer.len() - self.searched);
        self.take(length - kept);
        self.fill()?;
        Ok(Some(kept))
    }

    /// Reads on, in place of what is no longer needed.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let passed = self.start.min(self.searched);
        self.buffer.drain(..passed);
        self.start -= passed;
        self.searched -= passed;
        self.separator = self.separator.map(|at| at - passed);
        let length = self.buffer.len();
        self.buffer.resize(length + length.clamp(CHUNK, MAX_CHUNK), 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        self.search();
        Ok(())
    }

    fn search(&mut self) {
        if self.separator.is_none() {
            let found = memmem::find(&self.buffer[self.searched..], SEPARATOR_LINE);
            self.separator = found.map(|at| self.searched + at + 1);
            let searched = self.separator.unwrap_or(self.buffer.len().saturating_sub(SEPARATOR.len()));
            self.searched = self.searched.max(searched);
        }
    }
}
