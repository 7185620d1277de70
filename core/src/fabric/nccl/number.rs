//! Numbers as C reads them: whatever a text holds, NCCL makes a number of it and says nothing.

/// The number that `strtoll` with base 0 reads: 0 where there is none.
#[must_use]
pub fn number(text: &str) -> i64 {
    parse(text).0
}

/// Whether `strtoll` reads all of `text`, blanks around it aside.
#[must_use]
pub fn is_number(text: &str) -> bool {
    let (_, rest) = parse(text);
    rest.is_some_and(|rest| rest.trim().is_empty())
}

/// The number at the start of `text`, and what follows it; `None` where there is no number.
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
    // Out of range it stops at the bound.
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
    #[case::word_after_the_base("0xyes", 0, false)]
    #[case::comment("1 # off", 1, false)]
    #[case::too_large("99999999999999999999", i64::MAX, true)]
    fn numbers_are_read_as_nccl_does(#[case] text: &str, #[case] expected: i64, #[case] whole: bool) {
        assert_eq!((number(text), is_number(text)), (expected, whole));
    }
}
