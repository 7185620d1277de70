//! The documents say what the code does.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a failed test says so by a panic, and tables of cases own their values"
)]

use trainmesh::doctor::Code;
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

/// How to renew the table: it is what this test prints.
#[test]
fn every_finding_of_doctor_is_documented_in_its_own_words() {
    let documented = include_str!("../docs/operations.md");
    let (_, rest) = documented.split_once("| code | level | words |\n|---|---|---|\n").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let row = |code: &Code| format!("| `{}` | {} | {} |", code.code(), code.level().name(), code.text());
    let expected: Vec<String> = Code::ALL.iter().map(row).collect();
    let expected = expected.join("\n");
    assert_eq!(table, expected, "replace the table of `doctor` in docs/operations.md by:\n{expected}");
}
