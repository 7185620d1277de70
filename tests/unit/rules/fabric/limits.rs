//! Pods that are larger than any that runs: their cost is bounded.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::LintSettings;

use super::{WHOLE, World, pod, said, with};

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
#[case::the_most(64, "applied FabricAdded")]
#[case::too_many(65, "refused FabricContradicted")]
#[case::thousands(5_000, "refused FabricContradicted")]
fn containers_with_accelerators(#[case] containers: usize, #[case] expected: &str) {
    let world = World::new("transport: ib\nresources: [{name: rdma/ib, mode: perGpu}]");
    assert_eq!(said(&world.run(&with_containers(containers))), expected);
}

#[rstest]
#[case::not_a_label_value("a b", "refused UnknownFabric")]
#[case::too_long(&"a".repeat(250_000), "skipped NotAPod")]
fn a_name_that_no_label_can_hold_is_compared_with_none(#[case] name: &str, #[case] expected: &str) {
    let outcome = World::new(WHOLE).run(&with(pod(), "/metadata/labels/trainmesh.dev~1fabric", json!(name)));
    assert_eq!(said(&outcome), expected);
    assert!(outcome.warnings.iter().all(|warning| warning.len() < 256), "{:?}", outcome.warnings);
}

/// Findings are for people: a list of thousands of them is not read.
#[test]
fn findings_of_a_pod_with_thousands_of_containers() {
    let mut world = World::new("transport: ib\nresources: [{name: rdma/ib, mode: perGpu}]");
    world.config.fabric.lint = LintSettings::default();
    let outcome = world.run(&with_containers(5_000));
    assert!(!outcome.findings.is_empty(), "{outcome:?}");
    let most = outcome
        .findings
        .iter()
        .map(|finding| outcome.findings.iter().filter(|other| other.code == finding.code).count());
    assert!(most.max() <= Some(100), "{} findings", outcome.findings.len());
}
