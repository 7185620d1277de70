//! Text form of a configuration: a document, or a `ConfigMap` or Helm values that contain one.

use serde::Serialize;
use serde_json::Value;

use super::fields::{Section as _, read_root};
use super::release::{is_release, values_in_release};
use super::several_documents::only_document;
use super::tree::{bare_profile, is_list_of_profiles, is_profile, list_of_profiles, parse_tree};
use super::values::{is_values, read_values};
use super::{Configuration, Problem};
use crate::objects::CONFIG_MAP;
use crate::yaml::{Node, type_name};

/// `apiVersion` of a configuration.
pub const API_VERSION: &str = "config.trainmesh.dev/v1alpha1";
/// `kind` of a configuration.
pub const KIND: &str = "TrainmeshConfiguration";
/// Key of the configuration in the `ConfigMap`.
pub(super) const CONFIG_MAP_KEY: &str = "config.yaml";

/// Configuration of trainmesh. Absent and null fields have their default values.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = KIND))]
pub(super) struct Document<'a> {
    /// API version.
    #[cfg_attr(feature = "schema", schemars(extend("const" = API_VERSION)))]
    pub(super) api_version: &'static str,
    /// Kind.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    pub(super) kind: &'static str,
    /// Sections.
    #[serde(flatten)]
    pub(super) configuration: &'a Configuration,
}

/// Parses a configuration, or a `ConfigMap` or Helm values that contain one. Problems refer to lines of `text`. In a text of
/// several documents, such as a rendered chart or kustomization, the configuration is that of the `ConfigMap` trainmesh-config.
pub(super) fn parse(text: &str) -> Result<Configuration, Vec<Problem>> {
    let problems = match parse_tree(text) {
        Ok(tree) => return parse_document(text, tree.root()),
        Err(problems) => problems,
    };
    let only = only_document(text, is_installed).or_else(|| only_document(text, is_release)).ok_or(problems)?;
    parse_tree(&only).and_then(|tree| parse_document(&only, tree.root()))
}

fn parse_document(text: &str, root: Node<'_>) -> Result<Configuration, Vec<Problem>> {
    if is_config_map(root) { parse_config_map(text, root) } else { parse_root(root) }
}

fn is_config_map(root: Node<'_>) -> bool {
    root.get("kind").is_some_and(|kind| kind.value == "ConfigMap")
}

/// Returns true for the `ConfigMap` of an installation.
fn is_installed(root: Node<'_>) -> bool {
    let name = root.get("metadata").and_then(|metadata| metadata.get("name"));
    is_config_map(root) && name.is_some_and(|name| name.value == CONFIG_MAP)
}

fn parse_root(root: Node<'_>) -> Result<Configuration, Vec<Problem>> {
    if root.value.is_null() {
        let message = format!("empty: a configuration has at least apiVersion: {API_VERSION} and kind: {KIND}");
        return Err(vec![Problem { line: None, field: String::new(), message }]);
    }
    if is_profile(root) {
        return Err(bare_profile(root));
    }
    if is_list_of_profiles(root) {
        return Err(list_of_profiles());
    }
    if is_values(root) {
        return read_values(root);
    }
    if let Value::String(text) = root.value
        && parse_tree(text).is_ok_and(|tree| is_values(tree.root()))
    {
        let message = "Helm values in a string: write them without quotes, for example with yq -r".to_owned();
        return Err(vec![Problem { line: Some(root.line), field: String::new(), message }]);
    }
    if let Some(problem) = values_in_release(root) {
        return Err(vec![problem]);
    }
    let has_no_type = ["apiVersion", "kind"].iter().all(|field| root.get(field).is_none());
    let read = read_root(root, |fields| {
        fields.require_constant("apiVersion", API_VERSION);
        fields.require_constant("kind", KIND);
        Configuration::read(fields)
    });
    read.map_err(|mut problems| {
        let missing = problems.iter_mut().find(|problem| has_no_type && problem.field == "apiVersion");
        if let Some(problem) = missing {
            problem.message.push_str("; Helm values have the sections below config");
        }
        problems
    })
}

fn parse_config_map(text: &str, root: Node<'_>) -> Result<Configuration, Vec<Problem>> {
    let problem =
        |line, message| vec![Problem { line: Some(line), field: format!("data[{CONFIG_MAP_KEY:?}]"), message }];
    let Some(value) = root.get("data").and_then(|data| data.get(CONFIG_MAP_KEY)) else {
        return Err(problem(root.line, "missing: expected the text of a configuration".to_owned()));
    };
    let line = value.start;
    let Value::String(inner) = value.value else {
        let found = type_name(value.value);
        return Err(problem(line, format!("expected the text of a configuration, found {found}: write it after |")));
    };
    parse_tree(inner).and_then(|tree| parse_root(tree.root())).map_err(|mut problems| {
        for problem in &mut problems {
            problem.line = Some(outer_line(text, line, inner, problem.line));
        }
        problems
    })
}

/// Maps `line` of the scalar `inner` to a line of `outer`. `start` is the line of `outer` with the scalar's first line
/// that is not blank, as the parser reports it. Only the lines of a literal block correspond to lines of `outer`; for
/// quoted and folded scalars, returns `start`.
fn outer_line(outer: &str, start: u64, inner: &str, line: Option<u64>) -> u64 {
    let blank = inner.lines().take_while(|text| text.trim().is_empty()).count() as u64;
    let first = start.saturating_sub(blank);
    let skipped = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
    let below = outer.lines().skip(skipped);
    let is_literal = inner.lines().zip(below).all(|(inner, outer)| outer.trim_start().ends_with(inner.trim_start()));
    match line {
        Some(line) if is_literal => first + line - 1,
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str =
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n\n    # mine\n    mesh:\n      hold: 1\n";

    proptest! {
        #[test]
        fn line_of_a_problem_is_within_the_text(
            at in 0..TEXT.len(),
            removed in 0..4_usize,
            typed in "[-a-z:|>'\"{}\\[\\]#&*! \n\t]{0,5}",
        ) {
            let mut text = TEXT.to_owned();
            text.replace_range(at..TEXT.len().min(at + removed), &typed);
            // A parser may report a missing token after the last line.
            let end = text.lines().count() as u64 + 1;
            for problem in parse(&text).expect_err("a line of a configuration is missing") {
                prop_assert!(problem.line.is_none_or(|line| (1..=end).contains(&line)), "{problem} in:\n{text}");
            }
        }
    }
}
