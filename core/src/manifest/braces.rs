//! Finds the end of a JSON object that is read in chunks.

/// Scanner for balanced braces; holds the state between two chunks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BraceScanner {
    depth: usize,
    /// First byte after the opening brace that is not whitespace.
    first: Option<u8>,
    in_string: bool,
    escaped: bool,
}

impl BraceScanner {
    /// Returns the scanner of an object whose first part has been read.
    pub(super) fn within_object() -> Self {
        Self { depth: 1, first: Some(b'"'), ..Self::default() }
    }

    /// Returns true if the object starts like JSON. In a YAML flow mapping, braces can be in single-quoted strings.
    pub(super) fn is_json(self) -> bool {
        matches!(self.first, Some(b'"' | b'}'))
    }

    /// Scans `chunk`. Returns the length up to and including the brace that closes the object.
    pub(super) fn find_end(&mut self, chunk: &[u8]) -> Option<usize> {
        for (at, byte) in chunk.iter().enumerate() {
            if self.depth > 0 && self.first.is_none() && !byte.is_ascii_whitespace() {
                self.first = Some(*byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' if !self.in_string => self.depth += 1,
                b'}' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
