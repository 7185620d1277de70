//! The grammar of DNS names, as Kubernetes demands it of names (RFC 1123).

/// The longest label, in bytes.
pub(crate) const LABEL_LIMIT: usize = 63;
/// The longest subdomain, in bytes.
const SUBDOMAIN_LIMIT: usize = 253;

/// A label as a regular expression, for patterns that are made of it.
#[cfg(feature = "schema")]
macro_rules! label_pattern {
    () => {
        "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
    };
}

#[cfg(feature = "schema")]
pub(crate) use label_pattern;

/// A label, and nothing else, as a regular expression.
#[cfg(feature = "schema")]
pub(crate) const LABEL_PATTERN: &str = concat!("^", label_pattern!(), "$");

/// Labels: names of namespaces, and of what lies within a pod.
#[must_use]
pub(crate) fn is_label(text: &str) -> bool {
    text.len() <= LABEL_LIMIT && is_part(text)
}

/// Subdomains: parts with dots between them. Names of most objects, and prefixes of label keys.
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
