//! Severities of warnings about documents.

use crate::config::{CheckId, LintSettings};
use crate::finding::Severity;
use crate::manifest::DocumentWarning;

/// Returns `warnings` with the severities that `settings` set for their checks. There are none of checks that the
/// settings make information ([`LintSettings::warns`]).
pub(super) fn configured(mut warnings: Vec<DocumentWarning>, settings: &LintSettings) -> Vec<DocumentWarning> {
    for warning in &mut warnings {
        let severity = warning.check.and_then(CheckId::parse).and_then(|id| settings.severity.get(&id));
        // As for pods, the default changes nothing: some warnings of a check are errors without it.
        if severity == Some(&Severity::Error) {
            warning.severity = Severity::Error;
        }
    }
    warnings
}
