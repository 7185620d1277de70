//! Syntax of label selectors in the apiserver.

use crate::labels;

#[cfg(feature = "schema")]
macro_rules! pattern {
    ($key:literal, $value:literal) => {
        concat!("^ *", pattern!(@one $key, $value), " *(, *", pattern!(@one $key, $value), " *)*$")
    };
    (@one $key:literal, $value:literal) => {
        concat!("(! *", $key, "|", $key, "( *(==?|!=) *", $value, "| +(not)?in *\\( *", $value, "( *, *", $value, ")* *\\))?)")
    };
}

/// Pattern of a selector for the JSON Schema.
#[cfg(feature = "schema")]
pub(super) const PATTERN: &str =
    pattern!("([-a-z0-9.]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?");

/// Validates a label selector: one or more requirements, separated by commas.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(
            "expected a label selector, found an empty one, which would select every pod of the cluster".to_owned()
        );
    }
    split(text).into_iter().try_for_each(|requirement| {
        let requirement = requirement.trim();
        if is_requirement(requirement) {
            Ok(())
        } else {
            Err(format!("expected a label selector such as app=a,!canary, found {requirement:?}"))
        }
    })
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

fn is_requirement(text: &str) -> bool {
    if let Some(key) = text.strip_prefix('!') {
        return labels::is_key(key.trim());
    }
    if let Some((key, rest)) = text.split_once('(') {
        return rest.strip_suffix(')').is_some_and(|values| is_set(key, values));
    }
    // Longer operators come first: `a==b` must not parse as `a` and `=b`.
    match ["!=", "==", "="].into_iter().find_map(|operator| text.split_once(operator)) {
        Some((key, value)) => labels::is_key(key.trim()) && labels::is_value(value.trim()),
        None => labels::is_key(text),
    }
}

/// Returns true for `key in (a, b)` and `key notin (a, b)`.
fn is_set(head: &str, values: &str) -> bool {
    let words: Vec<&str> = head.split_whitespace().collect();
    let [key, "in" | "notin"] = words[..] else { return false };
    labels::is_key(key) && values.split(',').all(|value| labels::is_value(value.trim()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::exists("service.istio.io/canonical-name", true)]
    #[case::absent("!canary", true)]
    #[case::equal("app=a", true)]
    #[case::double_equals("app==a", true)]
    #[case::not_equal("app!=a", true)]
    #[case::empty_value("app=", true)]
    #[case::spaces("app = a , b != c", true)]
    #[case::set("app in (a, b),tier notin (c)", true)]
    #[case::several("a,!b,c=d,e in (f,g)", true)]
    #[case::empty("", false)]
    #[case::blank("  ", false)]
    #[case::trailing_comma("a,", false)]
    #[case::bad_key("a b", false)]
    #[case::bad_prefix("a_b.example/c", false)]
    #[case::empty_prefix_segment("a..b/c", false)]
    #[case::two_slashes("a/b/c", false)]
    #[case::bad_value("app=a b", false)]
    #[case::no_values("app in", false)]
    #[case::unclosed_parenthesis("app in (a", false)]
    #[case::unknown_operator("app within (a)", false)]
    #[case::greater("app>1", false)]
    fn validates_selectors(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(check(text).is_ok(), expected, "{:?}", check(text));
        let pattern = regex::Regex::new(PATTERN).unwrap();
        assert_eq!(pattern.is_match(text), expected || text == "a..b/c");
    }
}
