//! Duplicate keys in manifests.

use rstest::rstest;

use super::{POD, open};

const MAX_WARNINGS: usize = 10_000;

/// Returns the warnings: `object: line message`.
fn warnings(text: &str) -> Vec<String> {
    let inputs = open(text.as_bytes());
    let documents = inputs.documents().map(Result::unwrap).enumerate();
    let warnings = documents.flat_map(|(index, found)| found.warnings.into_iter().map(move |warning| (index, warning)));
    warnings.map(|(index, warning)| format!("{index}: {} {}", warning.line.unwrap(), warning.message)).collect()
}

#[rstest]
#[case::none(POD, &[])]
#[case::yaml(&format!("---\n{POD}---\n{POD}kind: Job\n"), &["1: 9 key \"kind\" is already set on line 7: "])]
#[case::json("{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\",\n\"kind\": \"Job\"}", &["0: 3 key \"kind\" is already set on line 2: "])]
// The YAML reader, which records lines, has a lower limit of nesting.
#[case::deep_json(
    &format!("{{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\",\n\"kind\": \"X\", \"a\": {}{}}}", "[".repeat(100), "]".repeat(100)),
    &["0: 1 key \"kind\" is set more than once in a mapping: "]
)]
#[case::list(
    "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n- apiVersion: v1\n  kind: Pod\n  kind: Job\n",
    &["0: 7 key \"kind\" is already set on line 6: "]
)]
#[case::twice(
    "apiVersion: v1\nkind: Pod\nmetadata: {a: 1,\n  a: 2}\nkind: Job\n",
    &["0: 4 key \"a\" is already set on line 3: ", "0: 5 key \"kind\" is already set on line 2: "]
)]
fn warnings_have_the_lines_of_the_source(#[case] text: &str, #[case] expected: &[&str]) {
    let found = warnings(text);
    let matches =
        found.len() == expected.len() && found.iter().zip(expected).all(|(line, start)| line.starts_with(start));
    assert!(matches, "found {found:#?}, expected {expected:#?}");
}

#[test]
fn warnings_are_bounded() {
    let document = format!("{POD}{}---\n", "a: 1\n".repeat(50));
    let found = warnings(&document.repeat(600));
    assert_eq!(found.iter().filter(|warning| warning.starts_with("0: ")).count(), 20);
    assert_eq!(found.len(), MAX_WARNINGS);
}
