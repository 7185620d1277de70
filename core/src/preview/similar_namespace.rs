//! Misspelled namespaces: those of workloads that have no Namespace in the input, but resemble one.

use crate::manifest::{Document, DocumentWarning};

use super::ManifestContext;

/// Minimum length of a part that may be misspelled. Shorter ones are numbers and abbreviations, such as those of stages.
const MIN_LENGTH: usize = 4;

/// Maximum difference of the lengths of two similar names: the number of hyphens.
const MAX_DIFFERENCE: usize = 3;

/// Returns the warning about the namespace of `document`, if it is probably misspelled.
pub(super) fn warning(document: &Document, kind: &str, context: &ManifestContext) -> Option<DocumentWarning> {
    let namespace = document.value.pointer("/metadata/namespace")?.as_str()?;
    if !context.is_assumed(namespace) {
        return None;
    }
    let similar = context.similar_namespace(namespace)?;
    let message = format!(
        "{kind} {namespace}/{}: the input has no Namespace {namespace}, whose labels are therefore assumed: did you mean {similar}?",
        super::name_of(document)
    );
    Some(DocumentWarning::at(document, document.path_position("metadata.namespace"), None, message))
}

/// Returns true if `name` is probably a misspelling of `known`: only the hyphens between its parts differ, or one letter in a long
/// part. Names of teams, stages and regions differ by more, or in short parts.
pub(super) fn resembles(name: &str, known: &str) -> bool {
    if name == known || name.len().abs_diff(known.len()) > MAX_DIFFERENCE {
        return false;
    }
    let joined = |name: &str| name.replace('-', "");
    if joined(name) == joined(known) {
        return true;
    }
    let (parts, known_parts): (Vec<&str>, Vec<&str>) = (name.split('-').collect(), known.split('-').collect());
    let mut different = parts.iter().zip(&known_parts).filter(|(part, known)| part != known);
    let is_misspelled = |part: &str, known: &str| {
        let is_word = |part: &str| part.len() >= MIN_LENGTH && part.bytes().all(|byte| byte.is_ascii_lowercase());
        is_word(part) && is_word(known) && strsim::osa_distance(part, known) == 1
    };
    parts.len() == known_parts.len()
        && different.next().is_some_and(|(part, known)| is_misspelled(part, known))
        && different.next().is_none()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::resembles;

    #[rstest]
    #[case::swapped("taem-a", "team-a", true)]
    #[case::a_letter_missing("reserch", "research", true)]
    #[case::no_hyphen("teama", "team-a", true)]
    #[case::another_team("team-b", "team-a", false)]
    #[case::another_number("team1", "team2", false)]
    #[case::another_stage("train-dev", "train-prd", false)]
    #[case::another_region("team-east", "team-west", false)]
    #[case::a_part_more("team-a-dev", "team-a", false)]
    #[case::two_parts("taem-research", "team-reserch", false)]
    #[case::same("team-a", "team-a", false)]
    fn misspelled_names_are_recognized(#[case] name: &str, #[case] known: &str, #[case] expected: bool) {
        assert_eq!(resembles(name, known), expected);
    }
}
