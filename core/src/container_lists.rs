//! Lists of containers in annotations of pods: `trainmesh.dev/payload-containers` and `trainmesh.dev/helper-containers`.

/// Returns the items of a list.
pub(crate) fn items(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Returns the sidecars of a list such as `a=entry,b`: pairs of container and catalog entry, which defaults to the container's name.
pub(crate) fn sidecars(text: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    items(text).map(|item| match item.split_once('=') {
        Some((container, entry)) => (container.trim(), entry.trim()),
        None => (item, item),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::names("a, b", &[("a", "a"), ("b", "b")])]
    #[case::entries(" a = x ,b=", &[("a", "x"), ("b", "")])]
    #[case::empty_items(",a,, ", &[("a", "a")])]
    #[case::two_signs("a=x=y", &[("a", "x=y")])]
    #[case::empty("", &[])]
    fn items_are_separated_by_commas(#[case] text: &str, #[case] expected: &[(&str, &str)]) {
        assert_eq!(sidecars(text).collect::<Vec<_>>(), expected);
        assert_eq!(items(text).count(), expected.len());
    }
}
