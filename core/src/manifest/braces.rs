//! Finds the end of a JSON value piece by piece.

/// The state between two pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Braces {
    depth: usize,
    /// What follows the first brace.
    first: Option<u8>,
    in_string: bool,
    escaped: bool,
}

impl Braces {
    /// Whether the object starts as one of JSON does, and not as one of YAML, whose quotes are of two kinds.
    pub(super) fn are_json(self) -> bool {
        matches!(self.first, Some(b'"' | b'}'))
    }

    /// The length of `piece` up to and with the brace that closes the first one.
    pub(super) fn close(&mut self, piece: &[u8]) -> Option<usize> {
        for (at, byte) in piece.iter().enumerate() {
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
