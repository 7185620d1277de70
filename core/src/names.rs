//! Lists of names for people.

use std::fmt::Display;

/// Number of names in a sentence; the others are counted.
const MAX_NAMES: usize = 4;

/// Joins names for a sentence: the first ones, and the number of the others.
#[must_use]
pub fn join_names(names: impl IntoIterator<Item = impl Display>) -> String {
    join_up_to(MAX_NAMES, names)
}

/// Joins the first `max` names, and the number of the others.
pub(crate) fn join_up_to(max: usize, names: impl IntoIterator<Item = impl Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    match names.len().checked_sub(max) {
        Some(more @ 1..) => format!("{} and {more} more", names[..max].join(", ")),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_truncated() {
        assert_eq!(join_names(["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(join_names(["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
        assert_eq!(join_up_to(1, [1, 2]), "1 and 1 more");
        assert_eq!(join_names([""; 0]), "");
    }
}
