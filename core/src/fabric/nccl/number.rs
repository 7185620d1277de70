//! Numbers as C's `strtoll` reads them. NCCL accepts any text without an error.

/// Returns the number that `strtoll` with base 0 reads: 0 if `text` does not start with a number. Returns `None` if the
/// number is out of range: NCCL then uses the default (2.30.7, `src/misc/param.cc`).
#[must_use]
pub fn parse_c_integer(text: &str) -> Option<i64> {
    parse(text).0
}

/// Returns true if `strtoll` reads the whole `text`, apart from surrounding spaces.
#[must_use]
pub fn is_c_integer(text: &str) -> bool {
    let (_, rest) = parse(text);
    rest.is_some_and(|rest| rest.trim().is_empty())
}

/// Parses the number at the start of `text`. Returns it with the remaining text, or with `None` if there is no number.
fn parse(text: &str) -> (Option<i64>, Option<&str>) {
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
        return (Some(0), None);
    }
    let magnitude = i128::from_str_radix(digits, radix).ok();
    let number = magnitude.map(|magnitude| if negative { -magnitude } else { magnitude });
    (number.and_then(|number| i64::try_from(number).ok()), Some(rest))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::decimal("22", Some(22), true)]
    #[case::octal("010", Some(8), true)]
    #[case::hexadecimal("0x1f", Some(31), true)]
    #[case::negative("-1", Some(-1), true)]
    #[case::blanks(" 1 ", Some(1), true)]
    #[case::word("true", Some(0), false)]
    #[case::trailing("1x", Some(1), false)]
    #[case::no_octal_digit("08", Some(0), false)]
    #[case::hexadecimal_without_digits("0x", Some(0), false)]
    #[case::empty("", Some(0), false)]
    #[case::sign("+1", Some(1), true)]
    #[case::word_after_prefix("0xyes", Some(0), false)]
    #[case::comment("1 # off", Some(1), false)]
    #[case::largest("9223372036854775807", Some(i64::MAX), true)]
    #[case::least("-9223372036854775808", Some(i64::MIN), true)]
    #[case::default_if_one_too_large("9223372036854775808", None, true)]
    #[case::default_if_too_large("99999999999999999999", None, true)]
    fn parses_numbers_like_strtoll(#[case] text: &str, #[case] expected: Option<i64>, #[case] whole: bool) {
        assert_eq!((parse_c_integer(text), is_c_integer(text)), (expected, whole));
    }
}
