//! Texts of manifests that kubectl reads, but not as their author intended.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::cli::{assert_exit, trainmesh};

const TWICE: &str = "# comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: i\n    env:\n    \
                     - {name: NCCL_DEBUG, value: INFO}\n    image: j\n";
const WARNING: &str = "warning: stdin: document 1, line 11: key \"image\" is already set on line 8: kubectl keeps only the last \
                       value; remove the others\n";

#[rstest]
#[case::preview(&["preview", "-f", "-"], 0, &["1 pod: 1 changed; 1 manifest warning\n"])]
#[case::the_last_value_is_used(&["preview", "-f", "-", "-o", "yaml"], 0, &["image: j\n"])]
#[case::json(
    &["preview", "-f", "-", "-o", "json"],
    0,
    &[r#""errors":[],"warnings":[{"source":"stdin","document":0,"line":11,"message":"key \"image\" is already"#]
)]
#[case::fail_on_warning(&["preview", "-f", "-", "--fail-on", "warning"], 1, &[])]
#[case::summary(&["preview", "-f", "-", "--summary"], 0, &["1 pod: 1 changed; 1 manifest warning\n"])]
#[case::lint(&["lint", "-f", "-"], 0, &["pods: 1; E: 0, W: 0, I: 0"])]
#[case::lint_fails_on_warnings(&["lint", "-f", "-", "--fail-on", "W"], 1, &[])]
#[case::lint_json(&["lint", "-f", "-", "-o", "json"], 0, &[r#""warnings":[{"source":"stdin","document":0,"line":11"#])]
fn duplicate_keys_are_warnings(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str]) {
    assert_exit(&trainmesh(arguments, TWICE), code, stdout, WARNING);
}

#[test]
fn sarif_locates_duplicate_keys() {
    let run = trainmesh(&["lint", "-f", "-", "-o", "sarif"], TWICE);
    let log: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:#?}"));
    let run = &log["runs"][0];
    let result = &run["results"][0];
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("manifest"), &json!("warning")), "{result}");
    assert_eq!(location["region"]["startLine"], 11, "{location}");
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "manifest");
}

/// A person who edits a configuration can correct it; nothing else reads it first.
#[test]
fn duplicate_keys_in_a_configuration_are_errors() {
    let run = trainmesh(&["config", "validate", "/dev/stdin"], "mesh: {}\nmesh: {}\n");
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(run.stderr.contains("/dev/stdin:2: duplicate key \"mesh\""), "{run:#?}");
}
