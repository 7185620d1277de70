//! The text form: a configuration's own document, or the `ConfigMap` that holds one.

use serde::Serialize;
use serde_json::Value;

use super::fields::{Section as _, read_root};
use super::{Configuration, Problem};
use crate::yaml::{self, Node, Tree, noun};

/// `apiVersion` of a configuration.
pub const API_VERSION: &str = "config.trainmesh.dev/v1alpha1";
/// `kind` of a configuration.
pub(super) const KIND: &str = "TrainmeshConfiguration";
/// Bytes of a configuration: a `ConfigMap` holds at most 1 MiB, and its manifest indents every line.
pub const MAX_TEXT: usize = 2 << 20;
/// The key of a `ConfigMap` under which the text of a configuration stands.
const CONFIG_MAP_KEY: &str = "config.yaml";

/// The configuration of trainmesh. A field that is absent or null takes its default.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = KIND))]
pub(super) struct Document<'a> {
    /// Version of the file's form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = API_VERSION)))]
    pub(super) api_version: &'static str,
    /// Kind of the file.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    pub(super) kind: &'static str,
    /// What the file configures.
    #[serde(flatten)]
    pub(super) configuration: &'a Configuration,
}

/// Reads a configuration, or a `ConfigMap` that holds one: lines then count in the file of the `ConfigMap`.
pub(super) fn parse(text: &str) -> Result<Configuration, Vec<Problem>> {
    let tree = tree(text)?;
    let root = tree.root();
    let is_config_map = root.get("kind").is_some_and(|kind| kind.value == "ConfigMap");
    if is_config_map { parse_config_map(text, root) } else { parse_root(root) }
}

fn parse_root(root: Node<'_>) -> Result<Configuration, Vec<Problem>> {
    if root.value.is_null() {
        let message = format!("empty: a configuration has at least apiVersion: {API_VERSION} and kind: {KIND}");
        return Err(vec![Problem { line: None, field: String::new(), message }]);
    }
    read_root(root, |fields| {
        fields.constant("apiVersion", API_VERSION);
        fields.constant("kind", KIND);
        Configuration::read(fields)
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
        let found = noun(value.value);
        return Err(problem(line, format!("expected the text of a configuration, found {found}: write it after |")));
    };
    tree(inner).and_then(|tree| parse_root(tree.root())).map_err(|mut problems| {
        for problem in &mut problems {
            problem.line = Some(outer_line(text, line, inner, problem.line));
        }
        problems
    })
}

fn tree(text: &str) -> Result<Tree, Vec<Problem>> {
    if text.len() > MAX_TEXT {
        let message = format!("longer than the limit of {} MiB", MAX_TEXT >> 20);
        return Err(vec![Problem { line: None, field: String::new(), message }]);
    }
    yaml::tree(text).map_err(|error| vec![error.into()])
}

/// The line of `outer` on which line `line` of its scalar `inner` stands. `start` is where the parser saw the scalar
/// begin: its first line that is not blank. In a literal block the lines follow each other; a quoted or folded scalar
/// has no lines of its own, there `start` is the answer.
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
        fn whatever_is_typed_the_line_of_a_problem_is_in_the_text(
            at in 0..TEXT.len(),
            removed in 0..4_usize,
            typed in "[-a-z:|>'\"{}\\[\\]#&*! \n\t]{0,5}",
        ) {
            let mut text = TEXT.to_owned();
            text.replace_range(at..TEXT.len().min(at + removed), &typed);
            // A parser may miss something only where the text has ended.
            let end = text.lines().count() as u64 + 1;
            for problem in parse(&text).expect_err("a line of a configuration is missing") {
                prop_assert!(problem.line.is_none_or(|line| (1..=end).contains(&line)), "{problem} in:\n{text}");
            }
        }
    }
}
