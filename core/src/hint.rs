//! Hints for unknown names in messages: the valid names, and the most similar one.

/// Joins the names for a message: `a, b or c`.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns the end of a message about the value `found`, in JSON, where `expected` is the type of the same text without quotes.
pub(crate) fn unquoting(found: &str, expected: &str) -> &'static str {
    let Some(text) = found.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return "" };
    let expects_number = expected.starts_with("an integer") || expected.starts_with("a whole number");
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let expects_boolean = ["a boolean", "true or false"].contains(&expected);
    let is_boolean = ["true", "false"].contains(&text);
    if expects_number && is_number || expects_boolean && is_boolean { "; remove the quotes" } else { "" }
}

/// Maximum length in bytes of a name that is compared: the cost of a comparison is the product of both lengths.
pub(crate) const MAX_COMPARED: usize = 128;

/// Returns the name in `known` that is most similar to `unknown`, if at most a third of the letters differ, or one of three is
/// missing, ignoring case and underscores. With more differences, a hint misleads more often than it helps.
pub(crate) fn nearest<'n>(unknown: &str, known: &[&'n str]) -> Option<&'n str> {
    if unknown.len() > MAX_COMPARED {
        return None;
    }
    let fold = |name: &str| name.replace('_', "").to_lowercase();
    let unknown = fold(unknown);
    let (distance, name) =
        known.iter().map(|name| (strsim::osa_distance(&unknown, &fold(name)), *name)).min_by_key(|found| found.0)?;
    let letters = unknown.chars().count();
    let lacks_one_of_three = letters == 2 && distance == 1 && name.chars().count() == 3;
    (3 * distance <= letters || lacks_one_of_three).then_some(name)
}

/// Length of a name from which two letters of it may be wrong, rather than one.
const LONG: usize = 9;

/// Returns true if `name` is a misspelled `known`: it differs by case and separators alone, or in one or two characters, none of which is
/// a digit. Unlike [`nearest`], this is for names among which others may exist that are not known.
pub(crate) fn is_typo(name: &str, known: &str) -> bool {
    let allowed = if known.len() < LONG { 1 } else { 2 };
    if name == known || name.len() > MAX_COMPARED || name.len().abs_diff(known.len()) > allowed {
        return false;
    }
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let letters = |name: &str| name.to_lowercase().replace(['-', '_', '.'], "");
    digits(name) == digits(known) && (letters(name) == letters(known) || strsim::osa_distance(name, known) <= allowed)
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
    #[case::a_short_name("ki", Some("kai"))]
    #[case::half_of_a_short_name("k", None)]
    #[case::end_of_a_name("able", None)]
    #[case::unrelated("replicas", None)]
    #[case::empty("", None)]
    fn suggests_only_close_names(#[case] unknown: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(unknown, &["enabled", "hold", "kai", "nativeSidecar", "traffic"]), expected);
    }

    #[rstest]
    #[case::number("\"3\"", "an integer", "; remove the quotes")]
    #[case::whole_number("\"3\"", "a whole number from 0 to 2147483647", "; remove the quotes")]
    #[case::boolean("\"true\"", "a boolean", "; remove the quotes")]
    #[case::unit("\"1h\"", "an integer", "")]
    #[case::empty("\"\"", "an integer", "")]
    #[case::word("\"no\"", "true or false", "")]
    #[case::another_type("\"3\"", "a list", "")]
    #[case::without_quotes("3.5", "an integer", "")]
    fn quotes_that_change_the_type_are_named(#[case] found: &str, #[case] expected: &str, #[case] hint: &str) {
        assert_eq!(unquoting(found, expected), hint);
    }

    #[rstest]
    #[case::letter_missing("queu", "queue", true)]
    #[case::two_letters("podset-reqired-topolgy", "podset-required-topology", true)]
    #[case::separators("podgroup", "pod-group", true)]
    #[case::case_of_letters("QueueName", "queue-name", true)]
    #[case::the_name("queue", "queue", false)]
    #[case::two_letters_of_a_short_name("quue-s", "queue", false)]
    #[case::another_number("gpu-2", "gpu-1", false)]
    #[case::number_missing("zone", "zone1", false)]
    #[case::another_word("task-name", "task-spec", false)]
    fn typos_are_few_letters(#[case] name: &str, #[case] known: &str, #[case] expected: bool) {
        assert_eq!(is_typo(name, known), expected);
    }
}
