//! Grammar of DNS names that Kubernetes requires for names of objects (RFC 1123).

/// Maximum length of a label in bytes.
pub(crate) const LABEL_LIMIT: usize = 63;
/// Maximum length of a subdomain in bytes.
const SUBDOMAIN_LIMIT: usize = 253;

/// Regular expression of a label, for use in other patterns.
#[cfg(feature = "schema")]
macro_rules! label_pattern {
    () => {
        "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
    };
}

#[cfg(feature = "schema")]
pub(crate) use label_pattern;

/// Regular expression that matches a complete label.
#[cfg(feature = "schema")]
pub(crate) const LABEL_PATTERN: &str = concat!("^", label_pattern!(), "$");

/// Returns true if `text` is a DNS label, such as the name of a namespace, container or volume.
#[must_use]
pub fn is_label(text: &str) -> bool {
    text.len() <= LABEL_LIMIT && is_part(text)
}

/// Returns true if `text` is a DNS subdomain: labels separated by dots, such as the name of most objects.
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LIMIT && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one_letter("a", true)]
    #[case::digits("0", true)]
    #[case::inner("a-0-b", true)]
    #[case::longest(&"a".repeat(63), true)]
    #[case::too_long(&"a".repeat(64), false)]
    #[case::empty("", false)]
    #[case::upper_case("A", false)]
    #[case::leading("-a", false)]
    #[case::trailing("a-", false)]
    #[case::underscore("a_b", false)]
    #[case::several("a.b", false)]
    fn labels(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_label(text), expected);
        assert_eq!(regex::Regex::new(LABEL_PATTERN).unwrap().is_match(text), expected);
    }

    #[rstest]
    #[case::one_part("a", true)]
    #[case::several("a.b-c.0", true)]
    #[case::longest(&"a".repeat(253), true)]
    #[case::too_long(&"a".repeat(254), false)]
    #[case::empty("", false)]
    #[case::empty_part("a..b", false)]
    #[case::leading("a.-b", false)]
    fn subdomains(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_subdomain(text), expected);
    }
}
