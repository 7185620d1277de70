//! Splits PEM texts into sections, byte for byte.

/// Label of a certificate.
pub(super) const CERTIFICATE: &str = "CERTIFICATE";
/// Label of a PKCS #8 private key.
pub(super) const PRIVATE_KEY: &str = "PRIVATE KEY";

/// Returns the sections of `text` with this label, including their first and last line. Text in between is skipped.
pub(super) fn sections<'a>(text: &'a str, label: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----\n"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let section = &rest[rest.find(&begin)?..];
        let length = section.find(&end)? + end.len();
        rest = &section[length..];
        Some(&section[..length])
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ONE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    #[rstest]
    #[case::none("", 0)]
    #[case::one(ONE, 1)]
    #[case::two(&format!("{ONE}{ONE}"), 2)]
    #[case::text_between(&format!("# a\n{ONE}# b\n{ONE}# c\n"), 2)]
    #[case::cut_off(&format!("{ONE}-----BEGIN CERTIFICATE-----\nAAAA\n"), 1)]
    #[case::another_label(&ONE.replace("CERTIFICATE", "PRIVATE KEY"), 0)]
    fn finds_the_sections_with_the_label(#[case] text: &str, #[case] expected: usize) {
        let found: Vec<&str> = sections(text, CERTIFICATE).collect();
        assert_eq!(found, vec![ONE; expected]);
    }
}
