//! The verification of the affected part of a pod has the same result as that of the complete pod.

use std::collections::BTreeMap;

use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::{Snapshot, Verification, mutate, mutate_with};
use trainmesh_core::scope::Mode;
use trainmesh_testing::mutations::MutatedPods;
use trainmesh_testing::snapshot::{injection_labels, snapshot};

/// Default number of generated pods.
const CASES: u64 = 2_000;
/// Environment variable with another number.
const CASES_VARIABLE: &str = "VERIFICATION_CASES";

const MODES: [Mode; 3] = [Mode::Enabled, Mode::Audit, Mode::IstioAux];

/// Sections of configurations that select every rule.
const SECTIONS: [&str; 4] = [
    "{}",
    "{mesh: {traffic: disableCapture, nativeSidecar: prefer}}",
    "{mesh: {traffic: disableInjection, waitTimeout: 5m}, fabric: {default: ib-shared}}",
    "{fabric: {default: gke-rdma-gib-a3u}}",
];

fn configuration(sections: &str) -> Configuration {
    let header = "{apiVersion: config.trainmesh.dev/v1alpha1, kind: TrainmeshConfiguration, ";
    let text = format!("{header}{}", sections.trim_start_matches('{'));
    Configuration::parse(&text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

#[test]
fn the_affected_part_decides_about_the_complete_pod() {
    let cases = std::env::var(CASES_VARIABLE).map_or(CASES, |cases| cases.parse().unwrap());
    let configurations = SECTIONS.map(configuration);
    let namespaces = [injection_labels(), BTreeMap::new()];
    let pods = MutatedPods::new();
    let (mut patched, mut withheld) = (0_u64, 0_u64);
    for number in 0..cases {
        let pod = pods.pod(number);
        let pick = |count: usize, divisor: u64| usize::try_from(number / divisor).unwrap() % count;
        let snapshot = Snapshot {
            mode: MODES[pick(MODES.len(), 8)],
            ..snapshot(&namespaces[pick(namespaces.len(), 4)], &configurations[pick(configurations.len(), 1)])
        };
        let complete = mutate(&pod, &snapshot);
        let affected = mutate_with(&pod, &snapshot, Verification::Affected);
        assert_eq!(format!("{affected:?}"), format!("{complete:?}"), "pod {number}: {pod}");
        patched += u64::from(!complete.patch.is_empty());
        withheld += u64::from(complete.failure.is_some());
    }
    assert!(patched > cases / 4 && withheld > cases / 100, "{patched} patched, {withheld} withheld of {cases}");
}
