//! Hints for unknown names in messages: the valid names, and the closest one.

/// Joins the names for a message: `a, b or c`.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Longest name that is compared, in bytes: the cost of a comparison is the product of both lengths.
pub(crate) const MAX_COMPARED: usize = 128;

/// Returns the closest known name, if at most a third of the letters differ, ignoring case and underscores. Beyond that,
/// a hint misleads more often than it helps.
pub(crate) fn nearest<'n>(typed: &str, known: &[&'n str]) -> Option<&'n str> {
    if typed.len() > MAX_COMPARED {
        return None;
    }
    let fold = |name: &str| name.replace('_', "").to_lowercase();
    let typed = fold(typed);
    let (distance, name) =
        known.iter().map(|name| (strsim::osa_distance(&typed, &fold(name)), *name)).min_by_key(|found| found.0)?;
    (3 * distance <= typed.chars().count()).then_some(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_letter_missing("nativeSidcar", Some("nativeSidecar"))]
    #[case::two_letters_swapped("hlod", Some("hold"))]
    #[case::snake_case("native_sidecar", Some("nativeSidecar"))]
    #[case::case_of_letters("HOLD", Some("hold"))]
    #[case::another_word("bald", None)]
    #[case::unrelated("replicas", None)]
    #[case::empty("", None)]
    fn suggests_only_close_names(#[case] typed: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(typed, &["enabled", "hold", "nativeSidecar", "traffic"]), expected);
    }
}
