//! The generated sections of `docs/diagnose.md`.

use std::fmt::Write as _;

use super::{DiagnosisCode, Layer, Recovery};
use crate::finding::Severity;

/// Returns the sections about findings and about recovery.
#[must_use]
pub fn reference_page() -> String {
    let mut page = String::from("## Findings\n");
    let mut layer: Option<Layer> = None;
    for code in DiagnosisCode::ALL {
        if layer != Some(code.layer()) {
            layer = Some(code.layer());
            // Writing to a string cannot fail.
            let _ = write!(page, "\nLayer `{}`:\n", code.layer().name());
        }
        let severity = match code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info | Severity::Ok => "note",
        };
        let (id, symptom, proof, fix) = (code.code(), code.text(), code.proof(), code.fix());
        let _ = write!(
            page,
            "\n### {id}\n\n| | |\n|---|---|\n| severity | {severity} |\n| symptom | {symptom} |\n| evidence | {proof} |\n| fix | {fix} |\n"
        );
    }
    page += "\n## Recovery\n\nThe column `recovers` of each finding is decided by this table:\n\n";
    page += "| situation | recovers by itself | reason |\n|---|---|---|\n";
    for row in Recovery::ALL {
        let _ = writeln!(page, "| {} | {} | {} |", row.situation(), row.recovers().name(), row.reason());
    }
    page
}
