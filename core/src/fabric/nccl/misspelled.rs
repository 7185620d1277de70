//! Misspelled names of NCCL's variables.

use std::iter;

use super::{PREFIX, VARIABLES, is_unknown_variable};

/// Maximum number of letters that differ. With more, the name probably belongs to a plugin or a later release.
const MAX_DIFFERENCE: usize = 2;
/// Length of a name up to which only one letter may differ: `NCCL_ROOT`, a directory, is no `NCCL_PROTO`.
const MAX_SHORT: usize = 12;
/// Maximum length of a word that may be an abbreviation, such as `P2P` or `NET`: another one differs in as few letters as a typo.
const MAX_ABBREVIATION: usize = 3;
/// Misspelled forms of [`PREFIX`]. They are listed because other libraries have similar ones: `RCCL_`, `HCCL_`, `CNCL_`.
const MISSPELLED_PREFIXES: [&str; 7] = ["NCLL_", "NCC_", "NCL_", "NNCCL_", "NCCCL_", "NCCLL_", "NCCL"];

/// Returns the variable that `name` probably means. Returns `None` if NCCL or a known plugin reads `name`, or if it is not similar
/// enough: a plugin or a later release may read it. Deprecated variables are not suggested.
#[must_use]
pub fn misspelled_variable(name: &str) -> Option<&'static str> {
    if !is_unknown_variable(name) {
        return of_misspelled_prefix(name);
    }
    let max = max_difference(name);
    let current = VARIABLES.iter().filter(|(_, variable)| variable.deprecated.is_none()).map(|(known, _)| *known);
    let similar = current.filter(|known| known.len().abs_diff(name.len()) <= max);
    let (distance, near) =
        similar.map(|known| (strsim::osa_distance(name, known), known)).min_by_key(|(distance, _)| *distance)?;
    (distance <= max && !is_other_abbreviation(name, near)).then_some(near)
}

/// Returns true if `name` is that of a variable, except for a misspelled prefix.
#[must_use]
pub(crate) fn has_misspelled_prefix(name: &str) -> bool {
    of_misspelled_prefix(name).is_some()
}

/// Returns the variable whose name is `name`, except for a misspelled prefix.
fn of_misspelled_prefix(name: &str) -> Option<&'static str> {
    let mut rests = MISSPELLED_PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix));
    rests.find_map(|rest| {
        let (known, variable) = VARIABLES.get_key_value(format!("{PREFIX}{rest}").as_str())?;
        variable.deprecated.is_none().then_some(*known)
    })
}

/// Returns the number of letters in which `name` may differ from a known name.
fn max_difference(name: &str) -> usize {
    if name.len() <= MAX_SHORT { 1 } else { MAX_DIFFERENCE }
}

/// Returns true if the names differ in a short word that is probably another abbreviation: a letter is replaced, not missing,
/// added or swapped.
fn is_other_abbreviation(name: &str, known: &str) -> bool {
    if name.split('_').count() != known.split('_').count() {
        return false;
    }
    let mut different = iter::zip(name.split('_'), known.split('_')).filter(|(word, other)| word != other);
    different.any(|(word, other)| {
        let is_short = word.len().min(other.len()) <= MAX_ABBREVIATION;
        let is_typo =
            || strsim::osa_distance(word, other) == 1 && (word.len() != other.len() || sorted(word) == sorted(other));
        is_short && !is_typo()
    })
}

fn sorted(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::swapped("NCCL_SOCKET_IFNMAE", Some("NCCL_SOCKET_IFNAME"))]
    #[case::missing("NCCL_SOCKET_IFNAM", Some("NCCL_SOCKET_IFNAME"))]
    #[case::added("NCCL_IB_TIMEUOUT", Some("NCCL_IB_TIMEOUT"))]
    #[case::replaced("NCCL_DEBUX", Some("NCCL_DEBUG"))]
    #[case::two_letters("NCCL_IB_TIMEUOTT", Some("NCCL_IB_TIMEOUT"))]
    #[case::without_separator("NCCL_SOCKETIFNAME", Some("NCCL_SOCKET_IFNAME"))]
    #[case::plural("NCCL_IB_HCAS", Some("NCCL_IB_HCA"))]
    #[case::swapped_abbreviation("NCCL_IB_HAC", Some("NCCL_IB_HCA"))]
    #[case::swapped_prefix("NCLL_DEBUG", Some("NCCL_DEBUG"))]
    #[case::letter_of_the_prefix_missing("NCC_IB_DISABLE", Some("NCCL_IB_DISABLE"))]
    #[case::separator_of_the_prefix_missing("NCCLIB_DISABLE", Some("NCCL_IB_DISABLE"))]
    #[case::prefix_of_another_library("RCCL_DEBUG", None)]
    #[case::prefix_of_an_accelerator("CNCL_DEBUG", None)]
    #[case::misspelled_prefix_of_another_name("NCC_ROOT", None)]
    #[case::prefix_alone("NCCL", None)]
    #[case::known("NCCL_IB_HCA", None)]
    #[case::another_abbreviation("NCCL_P2C_LEVEL", None)]
    #[case::another_abbreviation_of_two_letters("NCCL_AB_DISABLE", None)]
    #[case::three_letters("NCCL_SOCKET_DEVNAME", None)]
    #[case::plugin("NCCL_TESTS_DEVICES", None)]
    #[case::unknown_plugin("NCCL_ACME_RAIL_COUNT", None)]
    #[case::another_library("GLOO_SOCKET_IFNMAE", None)]
    #[case::no_name("NCCL_", None)]
    #[case::directory("NCCL_ROOT", None)]
    #[case::port("NCCL_PORT", None)]
    #[case::home("NCCL_HOME", None)]
    #[case::version("NCCL_VERSION", None)]
    #[case::headers("NCCL_INCLUDE_DIR", None)]
    #[case::library("NCCL_LIB_DIR", None)]
    #[case::deprecated("NCCL_MAX_CHANNELS", None)]
    fn only_near_misses_of_known_names_are_typos(#[case] name: &str, #[case] expected: Option<&str>) {
        assert_eq!(misspelled_variable(name), expected);
    }

    /// A later release adds names that resemble the present ones, as these do.
    #[test]
    fn names_of_nccl_are_not_taken_for_each_other() {
        let is_confused = |name: &str| {
            let others = VARIABLES.keys().copied().filter(|other| *other != name);
            let mut near = others.filter(|other| strsim::osa_distance(name, other) <= MAX_DIFFERENCE);
            near.any(|other| !is_other_abbreviation(name, other))
        };
        let confused: Vec<&str> = VARIABLES.keys().copied().filter(|name| is_confused(name)).collect();
        assert_eq!(confused, ["NCCL_THREAD_THRESHOLD", "NCCL_THREAD_THRESHOLDS"]);
    }
}
