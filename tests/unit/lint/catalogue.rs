//! The table of checks: its ids and severities, its examples, and what a configuration changes.

use rstest::rstest;
use trainmesh_core::config::{CheckId, LintSettings};
use trainmesh_core::finding::Severity;
use trainmesh_core::lint::{Check, checks, letter};

use super::world::{World, env, pod};

#[test]
fn ids_are_unique_and_stand_in_their_order() {
    let ids: Vec<CheckId> = checks().iter().map(|check| check.id).collect();
    assert!(ids.is_sorted_by(|id, next| id < next), "{ids:?}");
}

/// What an example takes for given in words.
fn given(id: &str, text: &str) -> World {
    let world = pod(text);
    let offer: &[(&str, u64)] = &[("rdma/ib", 8)];
    match id {
        "FP017" => world.profile("transport: roce\nresources: [{name: rdma/rdma_shared_device_a}]"),
        "FP021" => world.labelled("istio-injection", "enabled"),
        "FP027" => world.labelled("pod-security.kubernetes.io/enforce", "baseline"),
        "FP028" => world.nodes(&[("a", offer, None)]),
        "FP029" => world.original("{spec: {containers: [{name: train}]}}"),
        "FP031" => world.pinned("ba9876543210"),
        "FP032" => world.profile("transport: gib\nmatch: {minGpus: 8}"),
        "FP033" => world.nodes(&[("a", offer, None), ("b", offer, None)]),
        "FP034" => world.nodes(&[("a", offer, Some(false))]),
        _ => world,
    }
}

#[test]
fn every_example_shows_its_check_and_the_cure() {
    for Check { id, example, .. } in checks() {
        let id = id.to_string();
        let (wrong, mended) = (given(&id, example.wrong).ids(), given(&id, example.mended).ids());
        assert!(wrong.contains(&id), "{id} finds nothing in:\n{}", example.wrong);
        assert!(!mended.contains(&id), "{id} still finds something in:\n{}", example.mended);
    }
}

#[test]
fn every_check_has_its_words() {
    for Check { id, title, why, cure, .. } in checks() {
        assert!(why.ends_with('.') && why.len() > 40, "{id}: {why}");
        for fragment in [title, cure] {
            assert!(!fragment.is_empty() && !fragment.ends_with('.'), "{id}: {fragment}");
        }
    }
}

fn settings(disable: &[&str], severity: &[(&str, Severity)]) -> LintSettings {
    LintSettings {
        disable: disable.iter().map(|id| CheckId::parse(id).unwrap()).collect(),
        severity: severity.iter().map(|(id, severity)| (CheckId::parse(id).unwrap(), *severity)).collect(),
    }
}

fn suspicious() -> World {
    env(&[("NCCL_IB_TIMEOUT", "100"), ("NCCL_DEBUG", "TRACE"), ("NCCL_IB_GID_INDEX", "3")])
}

#[rstest]
#[case::as_they_are(settings(&[], &[]), suspicious(), &["E FP005", "W FP026", "I FP010"])]
#[case::switched_off(settings(&["FP026"], &[]), suspicious(), &["E FP005", "I FP010"])]
#[case::weighed_otherwise(settings(&[], &[("FP010", Severity::Error), ("FP005", Severity::Info)]), suspicious(), &["E FP010", "W FP026", "I FP005"])]
#[case::switched_off_by_the_profile(
    settings(&[], &[]),
    suspicious().profile("transport: ib\nlint: {disable: [FP010, FP005]}"),
    &["W FP026"]
)]
#[case::the_profile_beats_the_site(
    settings(&[], &[("FP010", Severity::Warning)]),
    suspicious().profile("transport: ib\nlint: {severity: {FP010: E}}"),
    &["E FP005", "E FP010", "W FP026"]
)]
#[case::what_the_site_switched_off_stays_off(
    settings(&["FP010"], &[]),
    suspicious().profile("transport: ib\nlint: {severity: {FP010: E}}"),
    &["E FP005", "W FP026"]
)]
fn a_configuration_chooses_and_weighs(#[case] settings: LintSettings, #[case] world: World, #[case] expected: &[&str]) {
    let found: Vec<String> =
        world.lint(&settings).iter().map(|finding| format!("{} {}", letter(finding.severity), finding.code)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_malformed_pod_has_no_findings_and_no_panic() {
    for text in
        ["{}", "{spec: 5}", "{spec: {containers: [5, {env: 3, resources: [], volumeMounts: {a: b}}], volumes: x}}"]
    {
        assert!(pod(text).ids().is_empty(), "{text}");
    }
}
