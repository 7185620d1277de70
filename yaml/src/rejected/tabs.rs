//! Tabs before the content of a line. Kubernetes accepts them within scalars and flow collections, and on a blank line below a plain
//! scalar that the scalar could continue on.

use granit_parser::{ScalarStyle, Span};
use memchr::{memchr, memchr_iter, memrchr};

use super::super::error::Error;

/// The tabs before the content of lines.
pub(super) struct Tabs<'text> {
    text: &'text str,
    /// At most one of each line, in their order.
    found: Vec<Tab>,
}

/// A tab before the content of a line.
struct Tab {
    line: usize,
    /// Offset of the line.
    start: usize,
    column: usize,
    /// True behind the dash of an item or the indicator of a key or value.
    is_behind_indicator: bool,
    is_accepted: bool,
    /// Plain scalar before the line.
    plain: Option<Plain>,
}

/// A plain scalar.
#[derive(Clone, Copy)]
struct Plain {
    /// Offset of its end.
    end: usize,
    /// Column of the key or dash that it belongs to.
    indentation: usize,
}

/// The part of a line before its first key or value.
struct Prefix {
    length: usize,
    /// Column of the last indicator.
    indicator: Option<usize>,
    /// Column of the first tab, if there is one.
    tab: Option<usize>,
    /// True if an indicator is before the tab.
    is_behind_indicator: bool,
}

impl<'text> Tabs<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let bytes = text.as_bytes();
        // For the scanner, a carriage return alone is a line break.
        let is_line_break = |at: usize| bytes.get(at + 1) == Some(&b'\n');
        if memchr(b'\t', bytes).is_none() || !memchr_iter(b'\r', bytes).all(is_line_break) {
            return Self { text, found: Vec::new() };
        }
        let mut start = 0;
        let lines = text.split('\n').enumerate().filter_map(|(index, line)| {
            let line_start = start;
            start += line.len() + 1;
            let Prefix { tab, is_behind_indicator, .. } = Prefix::of(line);
            let tab = Tab {
                line: index + 1,
                start: line_start,
                column: tab?,
                is_behind_indicator,
                is_accepted: false,
                plain: None,
            };
            Some(tab)
        });
        let found = lines.collect();
        Self { text, found }
    }

    /// Passes a scalar.
    pub(super) fn pass_scalar(&mut self, style: ScalarStyle, span: &Span, is_in_flow: bool) {
        if self.found.is_empty() {
            return;
        }
        let Some((start, end)) = span.start.byte_offset().zip(span.end.byte_offset()) else { return };
        let (first, last) = (span.start.line(), span.end.line());
        match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                // The end may be that of the blanks before the next token.
                let last_line = self.text.get(start..end).and_then(|source| source.rsplit('\n').next());
                let is_next_line = last_line.is_some_and(|line| line.trim().is_empty());
                self.accept_content(first, last.saturating_sub(usize::from(is_next_line)), span.indent);
            }
            _ => self.accept(first, last),
        }
        if style == ScalarStyle::Plain && !is_in_flow && start < end {
            let next = self.found.partition_point(|tab| tab.line <= last);
            let indentation = self.indentation(start);
            if let Some(tab) = self.found.get_mut(next) {
                tab.plain = Some(Plain { end, indentation });
            }
        }
    }

    /// Passes a flow collection that is in no other.
    pub(super) fn pass_flow_collection(&mut self, first: usize, last: usize) {
        self.accept(first, last);
    }

    /// Fails at the first tab that Kubernetes rejects.
    pub(super) fn finish(self) -> Result<(), Error> {
        // Plain scalar that the line could continue, with the end of the last blank line.
        let mut plain: Option<Plain> = None;
        for tab in self.found.iter().filter(|tab| !tab.is_accepted) {
            let before = tab.plain.or(plain.take());
            let before = before.filter(|plain| {
                let between = self.text.get(plain.end..tab.start);
                between.is_some_and(|between| between.trim().is_empty())
            });
            let continued = before.filter(|plain| !tab.is_behind_indicator && tab.column > plain.indentation);
            let Some(Plain { indentation, .. }) = continued else {
                return Err(Error::new(tab.line, "a tab where kubectl expects spaces: replace it"));
            };
            let line = self.line(tab.start);
            plain = line.trim().is_empty().then_some(Plain { end: tab.start + line.len(), indentation });
        }
        Ok(())
    }

    /// Accepts the tabs on the lines after `first`, up to `last`.
    fn accept(&mut self, first: usize, last: usize) {
        for tab in self.within(first, last) {
            tab.is_accepted = true;
        }
    }

    fn within(&mut self, first: usize, last: usize) -> &mut [Tab] {
        let start = self.found.partition_point(|tab| tab.line <= first);
        let end = self.found.partition_point(|tab| tab.line <= last);
        &mut self.found[start..end.max(start)]
    }

    /// Accepts the tabs on the lines after `first`, up to `last`, in the content of a block scalar, behind its indentation.
    fn accept_content(&mut self, first: usize, last: usize, indentation: Option<usize>) {
        for tab in self.within(first, last) {
            tab.is_accepted = indentation.is_none_or(|indentation| tab.column >= indentation);
        }
    }

    /// Returns the column of the key or dash to which the plain scalar at `offset` belongs.
    fn indentation(&self, offset: usize) -> usize {
        let start = memrchr(b'\n', &self.text.as_bytes()[..offset]).map_or(0, |line_break| line_break + 1);
        let Prefix { length, indicator, .. } = Prefix::of(self.line(start));
        // A value on its own line belongs to a key on a line before: its column is not known.
        if start + length < offset { length } else { indicator.unwrap_or_default() }
    }

    fn line(&self, start: usize) -> &'text str {
        self.text[start..].split('\n').next().unwrap_or_default()
    }
}

impl Prefix {
    fn of(line: &str) -> Self {
        let bytes = line.as_bytes();
        let mut prefix = Self { length: 0, indicator: None, tab: None, is_behind_indicator: false };
        while let Some(byte) = bytes.get(prefix.length) {
            match byte {
                b' ' => {}
                b'\t' => {
                    if prefix.tab.is_none() {
                        (prefix.tab, prefix.is_behind_indicator) = (Some(prefix.length), prefix.indicator.is_some());
                    }
                }
                b'-' | b'?' | b':' if matches!(bytes.get(prefix.length + 1), None | Some(b' ' | b'\t' | b'\r')) => {
                    prefix.indicator = Some(prefix.length);
                }
                _ => break,
            }
            prefix.length += 1;
        }
        prefix
    }
}
