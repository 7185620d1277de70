//! Grammar of labels.

use crate::dns;

/// Maximum length in bytes of a label value, and of the name in a key.
const NAME_LIMIT: usize = 63;

/// Returns true if `text` is a label value: empty, or alphanumeric at both ends with `-`, `_` and `.` between.
#[must_use]
pub fn is_value(text: &str) -> bool {
    let alphanumeric = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= NAME_LIMIT
        && alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Returns true if `text` is a label key: a name with the grammar of a value that is not empty, optionally preceded by
/// a DNS subdomain and `/`.
#[must_use]
pub fn is_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    !name.is_empty() && is_value(name) && prefix.is_none_or(dns::is_subdomain)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("false", true)]
    #[case("a.b_c-9", true)]
    #[case("-a", false)]
    #[case("a b", false)]
    #[case(&"x".repeat(64), false)]
    fn values(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_value(text), expected);
    }

    #[rstest]
    #[case("app", true)]
    #[case("example.com/App_1", true)]
    #[case("", false)]
    #[case("example.com/", false)]
    #[case("/app", false)]
    #[case("a..b/c", false)]
    #[case("Example.com/a", false)]
    fn keys(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_key(text), expected);
    }
}
