//! The YAML of a configuration, and of a fabric profile in place of one.

use super::fields::{Section as _, read_root};
use super::{Problem, Profile};
use crate::yaml::{self, DuplicateKey, DuplicateKeys, Node, Tree};

/// Maximum size of the text in bytes. A `ConfigMap` has at most 1 MiB, and its manifest indents every line.
pub const MAX_TEXT: usize = 2 << 20;
/// Name of the chart: the key of its values in those of a parent chart.
pub(super) const CHART: &str = "trainmesh";
/// Advice for a profile in place of a configuration.
const PROFILE_ADVICE: &str = "a fabric profile, not a configuration: put it into the list fabric.profiles, as \
                       `trainmesh fabric show NAME --as config` does (for Helm: --as values)";

/// Advice for a list of profiles in place of a configuration.
const LIST_ADVICE: &str = "a list of fabric profiles, not a configuration: write it below fabric.profiles, as \
                           `trainmesh fabric show NAME --as config` does (for Helm: --as values)";
/// Field of the section `fabric` with the list of profiles.
const LIST: &str = "profiles";

/// Parses the text of a configuration.
pub(super) fn parse_tree(text: &str) -> Result<Tree, Vec<Problem>> {
    if text.len() > MAX_TEXT {
        let message = format!("exceeds the limit of {} MiB", MAX_TEXT >> 20);
        return Err(vec![Problem { line: None, field: String::new(), message }]);
    }
    yaml::parse_tree(text, DuplicateKeys::Reject)
        .map_err(|error| duplicate_keys(text).unwrap_or_else(|| vec![error.into()]))
}

/// Returns a problem for each duplicate key of `text`; `None` if it has none, or another error.
fn duplicate_keys(text: &str) -> Option<Vec<Problem>> {
    let (_, keys, _) = yaml::parse_tree(text, DuplicateKeys::LastWins).ok()?.into_parts();
    let problem = |DuplicateKey { key, lines }: DuplicateKey| {
        let message = format!("duplicate key \"{key}\"");
        lines.map(|[_, line]| Problem { line: Some(line), field: String::new(), message })
    };
    let problems: Vec<Problem> = keys.into_iter().filter_map(problem).collect();
    (!problems.is_empty()).then_some(problems)
}

/// Returns true if `root` is a fabric profile in place of a configuration. A profile may have fields, such as `securityContext`,
/// that are also values of the chart.
pub(super) fn is_profile(root: Node<'_>) -> bool {
    let has = |field: &&str| root.get(field).is_some();
    ["name", "transport"].iter().any(has) && !["apiVersion", "kind", "config", CHART].iter().any(has)
}

/// Returns true if `root` is a list of fabric profiles, or has only the field with one, in place of a configuration.
pub(super) fn is_list_of_profiles(root: Node<'_>) -> bool {
    let has_only_list = root.entries().all(|(key, _)| key == LIST);
    let list = if has_only_list { root.get(LIST).unwrap_or(root) } else { root };
    list.items().next().is_some() && list.items().all(is_profile)
}

/// Returns how to use a list of fabric profiles.
pub(super) fn list_of_profiles() -> Vec<Problem> {
    vec![Problem { line: None, field: String::new(), message: LIST_ADVICE.to_owned() }]
}

/// Returns how to use a fabric profile, followed by the problems in it.
pub(super) fn bare_profile(root: Node<'_>) -> Vec<Problem> {
    let advice = Problem { line: None, field: String::new(), message: PROFILE_ADVICE.to_owned() };
    [advice].into_iter().chain(read_root(root, Profile::read).err().into_iter().flatten()).collect()
}
