//! A profile as its author wrote it: without the defaults, and with the comments.

use serde_json::Value;

use super::document::CONFIG_MAP_KEY;
use crate::yaml::{self, DuplicateKeys, Node};

/// Returns the YAML of the fabric profile `name` in `text`, a valid configuration, or a `ConfigMap` or Helm values that contain
/// one. Comments are kept in block style.
#[must_use]
pub fn written_profile(text: &str, name: &str) -> Option<String> {
    let tree = yaml::parse_tree(text, DuplicateKeys::Reject).ok()?;
    let root = tree.root();
    if root.get("kind").is_some_and(|kind| kind.value == "ConfigMap") {
        let inner = root.get("data")?.get(CONFIG_MAP_KEY)?.value.as_str()?;
        return in_configuration(inner, yaml::parse_tree(inner, DuplicateKeys::Reject).ok()?.root(), name);
    }
    let root = root.get("trainmesh").filter(|_| root.get("kind").is_none()).unwrap_or(root);
    let section = root.get("config").filter(|_| root.get("kind").is_none());
    in_configuration(text, section.unwrap_or(root), name)
}

fn in_configuration(text: &str, root: Node<'_>, name: &str) -> Option<String> {
    let profiles = root.get("fabric")?.get("profiles")?;
    let is_named = |profile: &Node<'_>| profile.value.get("name").and_then(Value::as_str) == Some(name);
    let profile = profiles.items().find(is_named)?;
    let block = block(text, profile.line).filter(|block| yaml::parse(block).is_ok_and(|value| value == *profile.value));
    Some(block.unwrap_or_else(|| yaml::to_string(profile.value)))
}

/// Returns the lines of the list item that starts on `line`, without its dash and indentation, and the comments above it.
fn block(text: &str, line: u64) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let first = *lines.get(index)?;
    let indent = indentation(first);
    let content = first[indent..].strip_prefix("- ")?.trim_start();
    let is_comment = |line: &&&str| indentation(line) == indent && line[indent..].starts_with('#');
    let comments: Vec<&str> = lines[..index].iter().rev().take_while(is_comment).map(|line| &line[indent..]).collect();
    let is_inside = |line: &&&str| line.trim().is_empty() || indentation(line) > indent;
    let column = first.len() - content.len();
    let rest = lines[index + 1..].iter().take_while(is_inside).map(|line| &line[indentation(line).min(column)..]);
    let block: Vec<&str> = comments.into_iter().rev().chain([content]).chain(rest).collect();
    Some(block.join("\n").trim_end().to_owned() + "\n")
}

/// Returns the number of blanks at the start of `line`.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const BLOCK: &str = "\
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  profiles:
  # mine
  - name: a   # the name
    transport: ib
    env:
    # inner
    - {name: A, value: b}

  # another
  -   name: b
      transport: tcp
  default: none
";
    const A: &str = "# mine\nname: a   # the name\ntransport: ib\nenv:\n# inner\n- {name: A, value: b}\n";

    #[rstest]
    #[case::block(BLOCK, "a", Some(A))]
    #[case::deeper_dash(BLOCK, "b", Some("# another\nname: b\ntransport: tcp\n"))]
    #[case::unknown(BLOCK, "c", None)]
    #[case::flow("fabric: {profiles: [{name: a, transport: ib}]}\n", "a", Some("name: a\ntransport: ib\n"))]
    #[case::name_in_the_next_line("fabric:\n  profiles:\n  -\n    name: a\n", "a", Some("name: a\n"))]
    #[case::helm_values(&format!("config:\n  {}", BLOCK.split_once("fabric").unwrap().1.replace('\n', "\n  ").replacen(':', "fabric:", 1)), "a", Some(A))]
    #[case::config_map(&format!("kind: ConfigMap\ndata:\n  config.yaml: |\n    {}", BLOCK.trim_end().replace('\n', "\n    ")), "a", Some(A))]
    fn a_profile_is_returned_as_it_is_written(#[case] text: &str, #[case] name: &str, #[case] expected: Option<&str>) {
        assert_eq!(written_profile(text, name).as_deref(), expected);
    }
}
