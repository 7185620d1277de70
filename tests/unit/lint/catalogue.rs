//! The table of checks: ids, severities and examples, and the settings that change them.

use std::collections::BTreeSet;

use rstest::rstest;
use trainmesh_core::config::{CheckId, LintSettings};
use trainmesh_core::finding::Severity;
use trainmesh_core::lint::{Check, checks, severity_letter};
use trainmesh_core::mutate::{Reason, RuleId};

use super::decisions::{opting_out, with_running_sidecar, without_profile};
use super::scenario::{Scenario, env, pod};
use super::services::{destination_rule, headless, peer_authentication, service};
use super::training;

#[test]
fn ids_are_unique_and_sorted() {
    let ids: Vec<CheckId> = checks().iter().map(|check| check.id).collect();
    assert!(ids.is_sorted_by(|id, next| id < next), "{ids:?}");
}

/// Adds the context that the examples of check `id` describe in prose.
pub fn with_context(id: &str, text: &str) -> Scenario {
    let scenario = pod(text);
    let offer: &[(&str, u64)] = &[("rdma/ib", 8)];
    match id {
        "FP017" => scenario.profile("transport: roce\nresources: [{name: rdma/rdma_shared_device_a}]"),
        "FP021" | "FP057" => scenario.labelled("istio-injection", "enabled"),
        "FP027" => scenario.labelled("pod-security.kubernetes.io/enforce", "baseline"),
        "FP028" => scenario.nodes(&[("a", offer, None)]),
        "FP029" if !text.contains("template requests") => scenario.original("{spec: {containers: [{name: train}]}}"),
        "FP031" => scenario.pinned("ba9876543210"),
        "FP032" => scenario.profile("transport: gib\nmatch: {minGpus: 8}"),
        "FP033" => scenario.nodes(&[("a", offer, None), ("b", offer, None)]),
        "FP034" => scenario.nodes(&[("a", offer, Some(text.contains("\"true\"")))]),
        "FP038" => scenario.replicas(2),
        "FP039" => scenario.replicas(4).compute_domain(2),
        "FP040" => scenario.replicas(4).compute_domain(0),
        "FP041" => scenario.replicas(2).nodes(&[("a", &[("nvidia.com/gpu", 8)], None)]),
        "FP046" if text.contains("eks-efaa") => {
            let label = "/metadata/labels/trainmesh.dev~1fabric";
            scenario.refused_at(RuleId::Fabric, Reason::UnknownFabric, "did you mean eks-efa?", label)
        }
        "FP050" if !text.contains("initContainers") => with_running_sidecar(scenario),
        "FP061" => opting_out(scenario),
        "FP047" if !text.contains("trainmesh.dev/fabric") => without_profile(scenario),
        "FP048" => scenario.replicas(2).objects(&[
            "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpus}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}}",
            "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpus}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}}}",
        ]),
        "FP051" => scenario.profile("transport: ib").objects(&[
            "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpus}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}}}",
        ]),
        "FP052" | "FP053" => {
            let scenario = scenario.labelled("istio-injection", "enabled").mesh(&[&service("web", "app: train", "{port: 6006}")]);
            if id == "FP052" { scenario } else { scenario.mesh(&[&destination_rule("web", "ISTIO_MUTUAL")]) }
        }
        "FP054" => {
            let database = headless("db", "app: db", "{port: 5432}").replace("name: db", "namespace: data, name: db");
            let strict = peer_authentication("STRICT").replace("name: default", "namespace: data, name: default");
            scenario.labelled("istio-injection", "enabled").mesh(&[&database, &strict])
        }
        "FP055" => scenario.labelled("istio-injection", "enabled").mesh(&[&peer_authentication("STRICT")]),
        "FP056" => scenario.labelled("istio.io/dataplane-mode", "ambient"),
        "FP058" => {
            let ports: Vec<String> = (1..=1000).map(|port| format!("{{port: {port}}}")).collect();
            scenario
                .labelled("istio-injection", "enabled")
                .mesh(&[&headless("ray", "app: train", &ports.join(", "))])
        }
        "FP062" => scenario.labelled("istio-injection", "enabled").beside(
            "{metadata: {labels: {training.kubeflow.org/operator-name: mpi-operator, training.kubeflow.org/job-name: llama, \
             training.kubeflow.org/job-role: worker}, annotations: {trainmesh.dev/applied: mesh.traffic, \
             traffic.sidecar.istio.io/includeOutboundIPRanges: ''}}, spec: {containers: [{name: worker}]}}",
        ),
        _ => scenario,
    }
}

/// Returns the objects that the examples of check `id` describe in prose.
pub fn training_context(id: &str) -> &'static str {
    const SERVICE: &str = "---\napiVersion: v1\nkind: Service\nmetadata: {name: etcd}\nspec: {selector: {app: etcd}}\n";
    const NAMESPACE: &str = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: \
                             {trainmesh.dev/inject: enabled, trainmesh.dev/fabric: ib-shared}}\n";
    const GANG_NAMESPACE: &str = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: \
                                  {trainmesh.dev/inject: enabled, trainmesh.dev/gang: native}}\n";
    const KUEUE_NAMESPACE: &str = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: \
                                   {trainmesh.dev/inject: enabled, trainmesh.dev/gang: kueue}}\n";
    match id {
        "TR009" => SERVICE,
        "TR012" => NAMESPACE,
        "TR015" => GANG_NAMESPACE,
        "TR016" => KUEUE_NAMESPACE,
        _ => "",
    }
}

/// Returns the ids of the findings about a manifest, with the context of check `id`.
fn training_ids(id: &str, text: &str) -> BTreeSet<String> {
    training::lint(&format!("{text}{}", training_context(id))).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn every_example_triggers_its_check_and_its_fix_does_not() {
    for Check { id, example, .. } in checks() {
        let code = id.to_string();
        let found =
            |text: &str| if id.is_training() { training_ids(&code, text) } else { with_context(&code, text).ids() };
        let (wrong, fixed) = (found(example.wrong), found(example.fixed));
        let id = code;
        assert!(wrong.contains(&id), "{id} finds nothing in:\n{}", example.wrong);
        assert!(!fixed.contains(&id), "{id} still finds something in:\n{}", example.fixed);
    }
}

#[test]
fn every_check_has_a_title_a_reason_and_a_fix() {
    for Check { id, title, why, fix, .. } in checks() {
        assert!(why.ends_with('.') && why.len() > 40, "{id}: {why}");
        for fragment in [title, fix] {
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

fn suspicious() -> Scenario {
    env(&[("NCCL_IB_RETRY_CNT", "100"), ("NCCL_DEBUG", "TRACE"), ("NCCL_IB_GID_INDEX", "3")])
}

#[rstest]
#[case::defaults(settings(&[], &[]), suspicious(), &["E FP005", "W FP026", "I FP010"])]
#[case::disabled(settings(&["FP026"], &[]), suspicious(), &["E FP005", "I FP010"])]
#[case::other_severity(settings(&[], &[("FP010", Severity::Error), ("FP005", Severity::Info)]), suspicious(), &["E FP010", "W FP026", "I FP005"])]
#[case::disabled_by_the_profile(
    settings(&[], &[]),
    suspicious().profile("transport: ib\nlint: {disable: [FP010, FP005]}"),
    &["W FP026"]
)]
#[case::the_profile_overrides_the_configuration(
    settings(&[], &[("FP010", Severity::Warning)]),
    suspicious().profile("transport: ib\nlint: {severity: {FP010: E}}"),
    &["E FP005", "E FP010", "W FP026"]
)]
#[case::a_profile_cannot_enable_a_disabled_check(
    settings(&["FP010"], &[]),
    suspicious().profile("transport: ib\nlint: {severity: {FP010: E}}"),
    &["E FP005", "W FP026"]
)]
fn settings_disable_checks_and_change_severities(
    #[case] settings: LintSettings,
    #[case] scenario: Scenario,
    #[case] expected: &[&str],
) {
    let found: Vec<String> = scenario
        .lint(&settings)
        .iter()
        .map(|finding| format!("{} {}", severity_letter(finding.severity), finding.code))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_malformed_pod_has_no_findings() {
    for text in ["{spec: 5}", "{spec: {containers: [5, {env: 3, resources: [], volumeMounts: {a: b}}], volumes: x}}"] {
        assert!(pod(text).ids().is_empty(), "{text}");
    }
}
