//! The documents say what the code does.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a failed test says so by a panic, and tables of cases own their values"
)]

use trainmesh::mutate::Reason;

/// How to renew the table: it is what this test prints.
#[test]
fn every_reason_is_documented_in_its_own_words() {
    let documented = include_str!("../docs/rules.md");
    let (_, table) = documented.split_once("## Reasons\n").unwrap();
    let rows: Vec<String> =
        Reason::ALL.iter().map(|reason| format!("| `{}` | {} |", reason.code(), reason.text())).collect();
    let expected = format!("\n| code | words |\n|---|---|\n{}\n", rows.join("\n"));
    assert_eq!(table, expected, "replace what follows `## Reasons` in docs/rules.md by:\n{expected}");
}
