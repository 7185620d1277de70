//! Pods larger than any real one: their cost is bounded.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::LintSettings;

use super::{FULL_PROFILE, Scenario, decision, pod, with};

fn with_containers(count: usize) -> Value {
    let container = |index: usize| {
        json!({
            "name": format!("rank-{index}"),
            "env": [{"name": "NCCL_NVLS_ENABLE", "value": "true"}],
            "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "1Gi"}},
        })
    };
    with(pod(), "/spec/containers", (0..count).map(container).collect())
}

#[rstest]
#[case::at_the_limit(64, "applied FabricAdded")]
#[case::over_the_limit(65, "refused FabricContradicted")]
#[case::thousands(5_000, "refused FabricContradicted")]
fn the_number_of_containers_with_accelerators_is_limited(#[case] containers: usize, #[case] expected: &str) {
    let scenario = Scenario::new("transport: ib\nresources: [{name: rdma/ib, mode: perGpu}]");
    assert_eq!(decision(&scenario.run(&with_containers(containers))), expected);
}

#[rstest]
#[case::not_a_label_value("a b", "refused UnknownFabric")]
#[case::too_long(&"a".repeat(250_000), "skipped NotAPod")]
fn a_name_that_is_not_a_label_value_gets_no_suggestion(#[case] name: &str, #[case] expected: &str) {
    let outcome = Scenario::new(FULL_PROFILE).run(&with(pod(), "/metadata/labels/trainmesh.dev~1fabric", json!(name)));
    assert_eq!(decision(&outcome), expected);
    assert!(outcome.warnings.iter().all(|warning| warning.len() < 256), "{:?}", outcome.warnings);
    let is_named =
        outcome.warnings.iter().any(|warning| warning.contains(&format!("{name:?} is not a valid label value")));
    assert_eq!(is_named, expected == "refused UnknownFabric", "{:?}", outcome.warnings);
}

/// Findings are for people: thousands of them would not be read.
#[test]
fn findings_per_check_are_limited() {
    let mut scenario = Scenario::new("transport: ib\nresources: [{name: rdma/ib, mode: perGpu}]");
    scenario.config.fabric.lint = LintSettings::default();
    let outcome = scenario.run(&with_containers(5_000));
    assert!(!outcome.findings.is_empty(), "{outcome:?}");
    let counts = outcome
        .findings
        .iter()
        .map(|finding| outcome.findings.iter().filter(|other| other.code == finding.code).count());
    assert!(counts.max() <= Some(100), "{} findings", outcome.findings.len());
}
