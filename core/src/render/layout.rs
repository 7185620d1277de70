//! Breaks lines between words, so that a terminal does not break them within.

use std::iter;

/// Width of the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Columns of the terminal; `None` if the output is not a terminal, whose lines are not broken.
    pub width: Option<usize>,
}

impl Layout {
    /// Returns `text` with line breaks, each followed by `indent` blanks. The first line starts at column `column`. A
    /// word that is wider than a line is broken after commas, as in a list of labels; without commas, as in a JSON pointer, it is not
    /// broken and gets its own line.
    #[must_use]
    pub fn wrap(self, text: &str, column: usize, indent: usize) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let mut wrapped = String::with_capacity(text.len());
        // Column of the next character.
        let mut at = column;
        for (index, word) in text.split(' ').enumerate() {
            let is_wide = indent + word.chars().count() > width;
            for (position, part) in word.split_inclusive(|character| is_wide && character == ',').enumerate() {
                let blank = usize::from(index > 0 && position == 0);
                let length = part.chars().count();
                if at + blank + length > width && at > indent && index + position > 0 {
                    wrapped.push('\n');
                    wrapped.extend(iter::repeat_n(' ', indent));
                    at = indent;
                } else {
                    wrapped.extend(iter::repeat_n(' ', blank));
                    at += blank;
                }
                wrapped.push_str(part);
                at += length;
            }
        }
        wrapped
    }

    /// Returns true if no word of `text` is wider than a line with `indent` blanks. As in [`wrap`](Self::wrap), commas divide words.
    #[must_use]
    pub fn fits_words(self, text: &str, indent: usize) -> bool {
        let mut parts = text.split(' ').flat_map(|word| word.split_inclusive(','));
        parts.all(|part| self.fits(indent + part.chars().count()))
    }

    /// Returns true if a line of `length` characters fits.
    #[must_use]
    pub fn fits(self, length: usize) -> bool {
        self.width.is_none_or(|width| length <= width)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::no_terminal(None, "aaa bbb ccc", 0, "aaa bbb ccc")]
    #[case::fits(Some(11), "aaa bbb ccc", 0, "aaa bbb ccc")]
    #[case::breaks(Some(10), "aaa bbb ccc", 0, "aaa bbb\n  ccc")]
    #[case::indented(Some(9), "aaa bbb ccc ddd", 0, "aaa bbb\n  ccc ddd")]
    #[case::starts_later(Some(10), "aaa bbb", 5, "aaa\n  bbb")]
    #[case::long_word(Some(8), "aaa /spec/containers/0 bbb", 0, "aaa\n  /spec/containers/0\n  bbb")]
    #[case::wide_list(Some(8), "a bb=1,ccc=2,d=3 e", 0, "a bb=1,\n  ccc=2,\n  d=3 e")]
    #[case::list_that_fits_a_line(Some(9), "aaa bb=1,c", 0, "aaa\n  bb=1,c")]
    #[case::characters(Some(7), "üüü ééé", 0, "üüü ééé")]
    fn lines_break_between_words(
        #[case] width: Option<usize>,
        #[case] text: &str,
        #[case] column: usize,
        #[case] expected: &str,
    ) {
        assert_eq!(Layout { width }.wrap(text, column, 2), expected);
    }

    #[rstest]
    #[case::no_terminal(None, "aaaaaaaaa", true)]
    #[case::words(Some(6), "aaaa bbbb", true)]
    #[case::wide_word(Some(5), "a bbbb", false)]
    #[case::list(Some(6), "aaa,bbb,c", true)]
    fn words_fit_a_column(#[case] width: Option<usize>, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(Layout { width }.fits_words(text, 2), expected);
    }
}
