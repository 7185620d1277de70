//! Findings as admission warnings: which pods get them, how many, and how long they are.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::Value;
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::{Outcome, Snapshot, mutate};
use trainmesh_core::scope::Mode;
use trainmesh_core::yaml;
use trainmesh_testing::snapshot::snapshot;

const NCCL: &str = "{spec: {containers: [{name: train, env: [{name: NCCL_IB_RETRY_CNT, value: '100'}, \
                    {name: NCCL_IB_GID_INDEX, value: '3'}]}]}}";
const RETRIES: &str = "FP005: container train: NCCL_IB_RETRY_CNT is 100, expected 0 to 7";
const ADAPTER: &str = "{spec: {containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}}]}}";
const GPU: &str = "{spec: {containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}";

fn run(mode: Mode, labels: &[(&str, &str)], config: &Configuration, pod: &Value) -> Outcome {
    let labels: BTreeMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    mutate(pod, &Snapshot { mode, ..snapshot(&labels, config) })
}

fn check(mode: Mode, labels: &[(&str, &str)], config: &Configuration, pod: &str, expected: &[&str]) {
    let outcome = run(mode, labels, config, &yaml::parse(pod).unwrap());
    let warnings: Vec<&String> = outcome.warnings.iter().filter(|warning| warning.starts_with("FP")).collect();
    assert_eq!(warnings, expected, "{:#?}", outcome.findings);
}

#[rstest]
#[case::sets_nccl(Mode::Enabled, NCCL, &[RETRIES])]
#[case::audit(Mode::Audit, NCCL, &[RETRIES])]
#[case::istio_aux(Mode::IstioAux, NCCL, &[])]
#[case::requests_an_adapter(Mode::Enabled, ADAPTER, &["FP013: container train: no volume at /dev/shm: only 64 MiB of shared memory"])]
#[case::no_fabric_settings(Mode::Enabled, GPU, &[])]
#[case::excluded(Mode::Enabled, &NCCL.replace("{spec: {", "{spec: {os: {name: windows}, "), &[])]
fn only_pods_with_fabric_settings_get_warnings(#[case] mode: Mode, #[case] pod: &str, #[case] expected: &[&str]) {
    check(mode, &[], &Configuration::embedded(), pod, expected);
}

#[test]
fn pods_are_linted_when_their_namespace_names_a_profile() {
    let shm = "FP013: container train: no volume at /dev/shm: only 64 MiB of shared memory";
    let text = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric:\n  \
                profiles:\n  - {name: bare, transport: tcp}\n";
    let config = Configuration::parse(text).unwrap();
    check(Mode::Enabled, &[("trainmesh.dev/fabric", "bare")], &config, GPU, &[shm]);
    check(Mode::Enabled, &[("trainmesh.dev/fabric", "none")], &config, GPU, &[]);
    check(Mode::Enabled, &[("trainmesh.dev/fabric", "unknown")], &config, GPU, &[]);
}

#[test]
fn pods_are_not_linted_when_fabric_is_disabled() {
    let mut config = Configuration::embedded();
    config.fabric.enabled = false;
    check(Mode::Enabled, &[], &config, NCCL, &[]);
}

const MISSPELLED: &str = "{metadata: {labels: {trainmesh.dev/fabrik: tcp}}, spec: {containers: [{name: train}]}}";
const DID_YOU_MEAN: &str = "FP045: label trainmesh.dev/fabrik has no effect: did you mean trainmesh.dev/fabric?";

#[rstest]
#[case::pod(Mode::Enabled, &[], MISSPELLED, &[DID_YOU_MEAN])]
#[case::audit(Mode::Audit, &[], MISSPELLED, &[DID_YOU_MEAN])]
#[case::istio_aux(Mode::IstioAux, &[], MISSPELLED, &[DID_YOU_MEAN])]
#[case::namespace(
    Mode::Enabled,
    &[("trainmesh.dev/topology", "auto")],
    "{spec: {containers: [{name: train}]}}",
    &["FP045: namespace label trainmesh.dev/topology has no effect: use inject, fabric, gang or mesh-traffic"]
)]
#[case::exempt(Mode::Enabled, &[], &MISSPELLED.replace("spec: {", "spec: {os: {name: windows}, "), &[])]
fn keys_without_effect_are_reported_for_every_pod(
    #[case] mode: Mode,
    #[case] labels: &[(&str, &str)],
    #[case] pod: &str,
    #[case] expected: &[&str],
) {
    check(mode, labels, &Configuration::embedded(), pod, expected);
}

/// The suggestion is no warning: nothing is wrong with the pod.
#[test]
fn a_profile_is_suggested_in_previews_only() {
    let lock = "securityContext: {capabilities: {add: [IPC_LOCK]}}, resources";
    let pod = ADAPTER.replace("resources", lock).replace("rdma/ib: 1", "vpc.amazonaws.com/efa: 32");
    let outcome = run(Mode::Enabled, &[], &Configuration::embedded(), &yaml::parse(&pod).unwrap());
    let found: Vec<&str> = outcome.findings.iter().map(|finding| finding.code).collect();
    assert!(found.contains(&"FP047"), "{:#?}", outcome.findings);
    assert!(outcome.warnings.iter().all(|warning| !warning.contains("FP047")), "{:?}", outcome.warnings);
}

#[test]
fn lists_five_findings_and_counts_the_rest() {
    let entries: Vec<String> = ["NVLS", "MNNVL", "CUMEM", "RAS", "DMABUF", "COLLNET", "IB_ECE", "OOB_NET"]
        .iter()
        .map(|name| format!("{{name: NCCL_{name}_ENABLE, value: 'true'}}"))
        .collect();
    let name = "a-container-with-a-name-as-long-as-a-label-of-dns-may-be-a-most";
    let pod = format!("{{spec: {{containers: [{{name: {name}, env: [{}]}}]}}}}", entries.join(", "));
    let outcome = run(Mode::Enabled, &[], &Configuration::embedded(), &yaml::parse(&pod).unwrap());
    assert_eq!(outcome.findings.len(), 8);
    assert_eq!(outcome.warnings.len(), 6, "{:#?}", outcome.warnings);
    assert_eq!(outcome.warnings.last().unwrap(), "… and 3 more; run `trainmesh lint` to list them");
    for warning in &outcome.warnings {
        assert!(warning.chars().count() <= 120, "{warning}");
    }
}

#[test]
fn warns_about_the_mesh_once() {
    let job = "{metadata: {labels: {training.kubeflow.org/operator-name: pytorchjob-controller, \
               training.kubeflow.org/job-name: a, training.kubeflow.org/replica-type: worker, \
               training.kubeflow.org/replica-index: '1'}}, spec: {containers: [{name: train, env: \
               [{name: NCCL_DEBUG, value: INFO}]}]}}";
    let injected = [("istio-injection", "enabled")];
    let warning = "FP021: NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=direct or disableCapture";
    let mut config = Configuration::embedded();
    check(Mode::Enabled, &injected, &config, job, &[warning]);
    let text =
        "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric: {lint: {disable: [FP021]}}\n";
    check(Mode::Enabled, &injected, &Configuration::parse(text).unwrap(), job, &[]);
    config.mesh.enabled = false;
    check(Mode::Enabled, &injected, &config, job, &[]);
}
