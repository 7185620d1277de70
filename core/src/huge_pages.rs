//! Names of the resources that are huge pages: the size of a page follows their start.

/// Start of the names.
pub(crate) const PREFIX: &str = "hugepages-";

/// Returns true if `resource` is called like huge pages, whatever their size.
pub(crate) fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with(PREFIX)
}

/// Returns true if `resource` is huge pages of a size that nodes have, such as `hugepages-2Mi`.
pub(crate) fn has_valid_size(resource: &str) -> bool {
    let size = resource.strip_prefix(PREFIX).and_then(|size| size.strip_suffix('i'));
    let digits = size.and_then(|size| size.strip_suffix(['K', 'M', 'G']));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("hugepages-2Mi", true, true)]
    #[case("hugepages-1Gi", true, true)]
    #[case("hugepages-1.5Gi", true, false)]
    #[case("hugepages-2M", true, false)]
    #[case("hugepages-", true, false)]
    #[case("hugepages", false, false)]
    #[case("memory", false, false)]
    fn names_end_with_a_size(#[case] resource: &str, #[case] is_named: bool, #[case] is_valid: bool) {
        assert_eq!((is_huge_pages(resource), has_valid_size(resource)), (is_named, is_valid));
    }
}
