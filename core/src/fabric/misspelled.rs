//! Machines whose name is misspelled. Clouds have many names that differ in a few characters, such as those of H100 and H200, B200
//! and GB200: most similar names are those of other machines.

use crate::config::profile::MachinePattern;

/// Letters of a name from which two of them may be wrong, rather than one.
const LONG: usize = 6;

/// Returns the pattern that matches the machine whose name `name` is meant to be. It differs from `name` in a few letters of one word,
/// but not in the name of a series: letters before or after its number, such as those of `GB200` or `ND96isr`.
pub(crate) fn misspelled_pattern<'p>(name: &str, patterns: &'p [MachinePattern]) -> Option<&'p str> {
    patterns.iter().map(MachinePattern::as_str).find(|pattern| is_misspelled(name, pattern))
}

/// Returns the machine of one of `patterns` whose name differs from `name` only by the case of letters and by separators.
pub(crate) fn machine_of_same_letters(name: &str, patterns: &[MachinePattern]) -> Option<String> {
    patterns.iter().find_map(|pattern| same_letters(name, pattern.as_str())).filter(|machine| machine != name)
}

fn same_letters(name: &str, pattern: &str) -> Option<String> {
    let known = pattern.trim_end_matches('*');
    let mut rest = name;
    for letter in known.chars().filter(char::is_ascii_alphanumeric) {
        rest = rest.trim_start_matches(is_separator);
        rest = rest.strip_prefix(|given: char| given.eq_ignore_ascii_case(&letter))?;
    }
    let rest = rest.trim_start_matches(is_separator);
    (rest.is_empty() || known.len() < pattern.len()).then(|| format!("{known}{rest}"))
}

fn is_separator(character: char) -> bool {
    !character.is_ascii_alphanumeric()
}

fn is_misspelled(name: &str, pattern: &str) -> bool {
    // The last letter is that of a unit, as in `8g`.
    let lacks_letter = |rest: &str| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_alphabetic());
    if pattern.strip_prefix(name).is_some_and(lacks_letter) {
        return true;
    }
    let (known, given) = (parts(pattern.trim_end_matches('*')), parts(name));
    let Some((start, rest)) = given.split_at_checked(known.len()) else { return false };
    // A pattern also matches the sizes of a family.
    if !rest.is_empty() && !pattern.ends_with('*') && !rest[0].starts_with('.') {
        return false;
    }
    let mut wrong = (0..known.len()).filter(|index| known[*index] != start[*index]);
    match (wrong.next(), wrong.next()) {
        (Some(index), None) => !is_of_series(&known, index) && is_typo(start[index], known[index]),
        _ => false,
    }
}

/// Returns true if `word` is `known` with a few other letters.
fn is_typo(word: &str, known: &str) -> bool {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let allowed = if known.len() < LONG { 1 } else { 2 };
    // Single letters number machines.
    let is_letter = word.len() == 1 && known.len() == 1;
    is_word(word) && is_word(known) && !is_letter && strsim::osa_distance(word, known) <= allowed
}

/// Returns true if the part at `index` is next to the number of a series. The number of an amount, such as that of `80gb`, does not
/// follow letters.
fn is_of_series(parts: &[&str], index: usize) -> bool {
    let has = |at: Option<usize>, test: fn(u8) -> bool| {
        at.and_then(|at| parts.get(at)).is_some_and(|part| part.bytes().all(test))
    };
    let is_after_number = has(index.checked_sub(1), |byte| byte.is_ascii_digit());
    let is_amount = !has(index.checked_sub(2), |byte| byte.is_ascii_alphabetic());
    has(index.checked_add(1), |byte| byte.is_ascii_digit()) || is_after_number && !is_amount
}

/// Splits a name into words, numbers and what separates them.
fn parts(name: &str) -> Vec<&str> {
    let kind = |byte: u8| (byte.is_ascii_alphabetic(), byte.is_ascii_digit());
    name.as_bytes()
        .chunk_by(|one, next| kind(*one) == kind(*next))
        .filter_map(|part| str::from_utf8(part).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rstest::rstest;

    use super::*;
    use crate::config::{Configuration, Profiles};

    #[rstest]
    #[case::unit("nvidia-h200-141g", "nvidia-h200-141gb", true)]
    #[case::word("a3-ultrgpu-8g", "a3-ultragpu-8g", true)]
    #[case::swapped_letters("a4-hihggpu-8g", "a4-highgpu-8g", true)]
    #[case::size_of_a_family("h100-80gb-smx-ib.8x", "h100-80gb-sxm-ib", true)]
    #[case::start("Standad_ND96isr_H100_v5", "Standard_ND96isr_H100_*", true)]
    #[case::the_machine("BM.GPU.H100.8", "BM.GPU.H100.8", false)]
    #[case::number("BM.GPU.H10.8", "BM.GPU.H100.8", false)]
    #[case::letters_before_a_number("BM.GPU.GB200.4", "BM.GPU.B200.4", false)]
    #[case::letters_after_a_number("Standard_ND96is_H100_v5", "Standard_ND96isr_H100_*", false)]
    #[case::another_word("a3-megagpu-8g", "a3-ultragpu-8g", false)]
    #[case::last_letter("a3-ultragpu-8", "a3-ultragpu-8g", true)]
    #[case::two_words("a3-ultrgpu-8", "a3-ultragpu-8g", false)]
    #[case::single_letter("dgx-h100-a", "dgx-h100-b", false)]
    #[case::more_words("BM.GPU.MI355X.8", "BM.GPU.MI355X-v1.8", false)]
    #[case::fewer_words("nvidia-h100-mega-80gb", "nvidia-h100-80gb", false)]
    fn names_with_other_letters_in_a_word_are_misspelled(
        #[case] name: &str,
        #[case] pattern: &str,
        #[case] expected: bool,
    ) {
        let patterns = [MachinePattern::parse(pattern).unwrap()];
        assert_eq!(misspelled_pattern(name, &patterns), expected.then_some(pattern));
    }

    #[rstest]
    #[case::case_of_letters("standard_nd96isr_h100_v5", "Standard_ND96isr_H100_*", Some("Standard_ND96isr_H100_v5"))]
    #[case::separator_missing("Standard_ND96isrH100_v5", "Standard_ND96isr_H100_*", Some("Standard_ND96isr_H100_v5"))]
    #[case::other_separators("a3_ultragpu_8g", "a3-ultragpu-8g", Some("a3-ultragpu-8g"))]
    #[case::no_separators("a3ultragpu8g", "a3-ultragpu-8g", Some("a3-ultragpu-8g"))]
    #[case::the_machine("a3-ultragpu-8g", "a3-ultragpu-8g", None)]
    #[case::a_machine_of_the_pattern("Standard_ND96isr_H100_v5", "Standard_ND96isr_H100_*", None)]
    #[case::more_letters("a3-ultragpu-8gg", "a3-ultragpu-8g", None)]
    #[case::another_machine("Standard_ND96is_H100_v5", "Standard_ND96isr_H100_*", None)]
    fn case_and_separators_are_ignored(#[case] name: &str, #[case] pattern: &str, #[case] expected: Option<&str>) {
        let patterns = [MachinePattern::parse(pattern).unwrap()];
        assert_eq!(machine_of_same_letters(name, &patterns).as_deref(), expected);
    }

    /// Machines that no profile lists: the documentation of clouds has them.
    const OTHER_MACHINES: &[&str] = &[
        "BM.GPU.A10.4",
        "BM.GPU.L40S.4",
        "Standard_ND96is_H100_v5",
        "Standard_ND96isr_MI300X_v5",
        "Standard_NC40ads_H100_v5",
        "a100-80gb-sxm-ib.8x",
        "l40s-48gb.8x",
        "a2-ultragpu-8g",
        "a3-edgegpu-8g",
        "a3-highgpu-8g",
        "nvidia-b300",
        "nvidia-h100-80gb",
        "nvidia-a100-80gb",
        "gd-8xl40s-i128",
        "h200-8x",
    ];

    #[allow(clippy::disallowed_methods, reason = "the test reads the examples of the repository")]
    #[test]
    fn no_machine_is_a_misspelled_one() {
        let examples = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/fabric")).unwrap();
        let read = |path| Configuration::parse(&fs::read_to_string(path).unwrap()).unwrap().fabric.profiles;
        let all: Vec<Profiles> = examples.map(|file| read(file.unwrap().path())).collect();
        assert!(all.len() > 1);
        let patterns: Vec<MachinePattern> = all
            .iter()
            .flat_map(|profiles| profiles.all().into_values().flat_map(|entry| entry.profile.matches.machines.clone()))
            .collect();
        let sizes = patterns.iter().map(|pattern| pattern.as_str().replace('*', ""));
        for machine in sizes.chain(OTHER_MACHINES.iter().map(|machine| (*machine).to_owned())) {
            assert_eq!(misspelled_pattern(&machine, &patterns), None, "{machine}");
            assert_eq!(machine_of_same_letters(&machine, &patterns), None, "{machine}");
        }
    }
}
