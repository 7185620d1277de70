//! Numbers as C's `strtoll` reads them. NCCL accepts any text without an error.

/// Returns the number that `strtoll` with base 0 reads: 0 if `text` does not start with a number.
#[must_use]
pub fn parse_c_integer(text: &str) -> i64 {
    parse(text).0
}

/// Returns true if `strtoll` reads the whole `text`, apart from surrounding spaces.
#[must_use]
pub fn is_c_integer(text: &str) -> bool {
    let (_, rest) = parse(text);
    rest.is_some_and(|rest| rest.trim().is_empty())
}

/// Parses the number at the start of `text`. Returns it with the remaining text, or with `None` if there is no number.
fn parse(text: &str) -> (i64, Option<&str>) {
    let start = text.trim_start();
    let (negative, unsigned) = match start.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, start.strip_prefix('+').unwrap_or(start)),
    };
    let hexadecimal = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let hexadecimal = hexadecimal.filter(|rest| rest.starts_with(|digit: char| digit.is_ascii_hexdigit()));
    let (radix, digits) = match hexadecimal {
        Some(rest) => (16, rest),
        None if unsigned.starts_with('0') => (8, unsigned),
        None => (10, unsigned),
    };
    let end = digits.find(|digit: char| !digit.is_digit(radix)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return (0, None);
    }
    // Like `strtoll`, saturate if the number is out of range.
    let magnitude = i64::from_str_radix(digits, radix).unwrap_or(i64::MAX);
    (if negative { -magnitude } else { magnitude }, Some(rest))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::decimal("22", 22, true)]
    #[case::octal("010", 8, true)]
    #[case::hexadecimal("0x1f", 31, true)]
    #[case::negative("-1", -1, true)]
    #[case::blanks(" 1 ", 1, true)]
    #[case::word("true", 0, false)]
    #[case::trailing("1x", 1, false)]
    #[case::no_octal_digit("08", 0, false)]
    #[case::hexadecimal_without_digits("0x", 0, false)]
    #[case::empty("", 0, false)]
    #[case::sign("+1", 1, true)]
    #[case::word_after_prefix("0xyes", 0, false)]
    #[case::comment("1 # off", 1, false)]
    #[case::too_large("99999999999999999999", i64::MAX, true)]
    fn parses_numbers_like_strtoll(#[case] text: &str, #[case] expected: i64, #[case] whole: bool) {
        assert_eq!((parse_c_integer(text), is_c_integer(text)), (expected, whole));
    }
}
