//! Runs `trainmesh doctor` against a release.

use std::process::Command;

use serde_json::Value;

use crate::cluster::{TIMEOUT, eventually};
use crate::release::Release;

/// Exit code of the command, and code and level of each finding.
#[derive(Debug)]
pub struct DoctorReport {
    pub exit_code: Option<i32>,
    pub findings: Vec<(String, String)>,
}

/// Runs `trainmesh doctor -o json`.
pub fn run_doctor(release: &Release) -> DoctorReport {
    let output = Command::new(crate::program())
        .args(["doctor", "-o", "json", "--namespace", &release.namespace.name])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    let findings = findings.map(|finding| (text(finding, "code"), text(finding, "level"))).collect();
    DoctorReport { exit_code: output.status.code(), findings }
}

/// Waits until the report has no problems, such as a replica that responds slowly, and the checks of a complete
/// installation succeed.
pub fn wait_until_healthy(release: &Release) {
    eventually(TIMEOUT, "doctor finds no problem", || problems(&run_doctor(release)).map_or(Ok(()), Err));
}

fn problems(DoctorReport { exit_code, findings }: &DoctorReport) -> Option<String> {
    let problems: Vec<_> = findings.iter().filter(|(_, level)| level == "warning" || level == "failure").collect();
    if !problems.is_empty() || *exit_code != Some(0) {
        return Some(format!("{exit_code:?} {problems:?}"));
    }
    let mut expected = [
        "Registered",
        "CertificateTrusted",
        "EndpointsReady",
        "Led",
        "MetricsServed",
        "ConfigurationValid",
        "RightsGranted",
        "ExecPolicyInForce",
        "OptedIn",
    ]
    .into_iter();
    let missing = expected.find(|expected| !findings.iter().any(|(code, _)| code == expected));
    missing.map(|missing| format!("{missing} is missing: {findings:?}"))
}
