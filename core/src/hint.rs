//! What a message says of a name that is not known: the names that are, and the one that was probably meant.

/// The names in the words of a message: `a, b or c`.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The longest name that others are compared with, in bytes: a comparison takes the product of both lengths.
pub(crate) const COMPARED: usize = 128;

/// The known name that was probably meant: no more than a third of the typed one is wrong, the case of letters and
/// the underscores of `snake_case` aside. Beyond that a hint misleads more often than it helps.
pub(crate) fn nearest<'n>(typed: &str, known: &[&'n str]) -> Option<&'n str> {
    if typed.len() > COMPARED {
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
    #[case::nothing_alike("replicas", None)]
    #[case::empty("", None)]
    fn a_hint_is_given_for_a_slip_only(#[case] typed: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(typed, &["enabled", "hold", "nativeSidecar", "traffic"]), expected);
    }
}
