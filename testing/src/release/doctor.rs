//! What `trainmesh doctor` says of an installation.

use std::process::Command;

use serde_json::Value;

use crate::release::Release;

/// What was found: exit code, and code and level of each finding.
#[derive(Debug)]
pub struct Diagnosis {
    pub exit: Option<i32>,
    pub found: Vec<(String, String)>,
}

/// Runs it.
pub fn diagnosis(release: &Release) -> Diagnosis {
    let output = Command::new(crate::program())
        .args(["doctor", "-o", "json", "--namespace", &release.home.name])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    Diagnosis { exit: output.status.code(), found: findings.map(|it| (text(it, "code"), text(it, "level"))).collect() }
}

/// Holds that nothing is wrong with the whole of it.
pub fn sound(diagnosis: &Diagnosis) {
    let Diagnosis { exit, found } = diagnosis;
    let bad: Vec<_> = found.iter().filter(|(_, level)| level == "warning" || level == "failure").collect();
    assert!(bad.is_empty() && *exit == Some(0), "{exit:?} {bad:?}");
    for expected in [
        "Registered",
        "CertificateTrusted",
        "EndpointsReady",
        "Led",
        "MetricsServed",
        "ConfigurationValid",
        "RightsGranted",
        "OptedIn",
    ] {
        assert!(found.iter().any(|(code, _)| code == expected), "no {expected}: {found:?}");
    }
}
