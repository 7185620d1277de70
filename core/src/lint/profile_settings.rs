//! Findings about settings that the profile itself adds, which the user of the pod cannot change.

use super::LintInput;
use crate::config::Profile;
use crate::finding::{Finding, Severity};

/// Field with the settings that trainmesh writes into NCCL's configuration file.
const CONF: &str = "/metadata/annotations/trainmesh.dev~1nccl-conf";
/// Part of the JSON pointer of a container's environment variable.
const ENV: &str = "/env/";
/// How to fix a setting of a profile.
const FIX: &str = "change it in the fabric profile";

/// Attributes findings about settings that only the patched pod has to `profile`. Removes those of severity
/// information, because the profile has the setting on purpose.
pub(super) fn attribute(input: &LintInput<'_>, profile: &Profile, findings: &mut Vec<Finding>) {
    let is_of_profile = |finding: &Finding| {
        let field = &finding.subject;
        (field == CONF || field.contains(ENV)) && input.original.raw().pointer(field).is_none()
    };
    findings.retain(|finding| finding.severity != Severity::Info || !is_of_profile(finding));
    for finding in findings.iter_mut().filter(|finding| is_of_profile(finding)) {
        finding.message = format!("profile {}: {}", profile.name, finding.message).into();
        finding.fix = Some(FIX);
    }
}
