//! Checks that consider whether the rules apply to the pod, and which settings a profile adds.

use rstest::rstest;
use trainmesh_core::config::LintSettings;
use trainmesh_core::mutate::{Reason, RuleId, Verdict};

use super::decisions::labeled;
use super::scenario::{Scenario, check, env, pod, train};

fn excluded(scenario: Scenario) -> Scenario {
    scenario.decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::PodOptedOut, "a")
}

fn in_excluded_namespace(scenario: Scenario) -> Scenario {
    scenario.decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::ExcludedNamespace, "a")
}

/// Returns the pod in a namespace with the label of istio-aux alone.
fn in_istio_aux(scenario: Scenario) -> Scenario {
    let scenario = scenario.labelled("io.datastrophic/istio-aux", "enabled");
    scenario.decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::IstioAuxNamespace, "a")
}

#[rstest]
#[case::excluded(
    excluded(labeled("trainmesh.dev/mesh-traffic: 'off'")),
    Some(
        "label trainmesh.dev/mesh-traffic=off: unknown mode: expected leave, direct, disableCapture or disableInjection"
    )
)]
#[case::of_the_namespace(
    excluded(labeled("a: b").labelled("trainmesh.dev/mesh-traffic", "disablecapture")),
    Some("namespace label trainmesh.dev/mesh-traffic=disablecapture: unknown mode: did you mean disableCapture?")
)]
#[case::without_opt_in(
    excluded(labeled("trainmesh.dev/mesh-traffic: direct")),
    Some("label trainmesh.dev/mesh-traffic has no effect without trainmesh.dev/inject=enabled on the namespace")
)]
#[case::of_a_namespace_without_opt_in(
    excluded(labeled("a: b").labelled("trainmesh.dev/fabric", "tcp")),
    Some("namespace label trainmesh.dev/fabric has no effect without trainmesh.dev/inject=enabled on the namespace")
)]
#[case::unknown_profile_of_an_excluded_pod(
    excluded(labeled("trainmesh.dev/fabric: eks-efaa")),
    Some("label trainmesh.dev/fabric=eks-efaa: no fabric profile has this name: did you mean eks-efa?")
)]
#[case::unknown_profile_of_the_namespace_of_an_excluded_pod(
    excluded(labeled("a: b").labelled("trainmesh.dev/fabric", "eks-efaa")),
    Some("namespace label trainmesh.dev/fabric=eks-efaa: no fabric profile has this name: did you mean eks-efa?")
)]
#[case::unknown_profile_that_the_rule_reports(labeled("trainmesh.dev/fabric: eks-efaa"), None)]
#[case::profile_beside_istio_aux(
    in_istio_aux(labeled("trainmesh.dev/fabric: tcp")),
    Some("label trainmesh.dev/fabric has no effect without trainmesh.dev/inject=enabled on the namespace")
)]
#[case::unknown_profile_beside_istio_aux(
    in_istio_aux(labeled("trainmesh.dev/fabric: eks-efaa")),
    Some("label trainmesh.dev/fabric=eks-efaa: no fabric profile has this name: did you mean eks-efa?")
)]
#[case::traffic_mode_beside_istio_aux(
    in_istio_aux(labeled("trainmesh.dev/mesh-traffic: 'off'")),
    Some(
        "label trainmesh.dev/mesh-traffic=off: unknown mode: expected leave, direct, disableCapture or disableInjection"
    )
)]
#[case::opted_out_of_an_enabled_namespace(
    excluded(labeled("trainmesh.dev/inject: disabled").labelled("trainmesh.dev/inject", "enabled").labelled("trainmesh.dev/fabric", "tcp")),
    None
)]
#[case::profile_of_an_opted_out_pod(
    excluded(labeled("trainmesh.dev/inject: disabled, trainmesh.dev/fabric: tcp").labelled("trainmesh.dev/inject", "enabled")),
    Some("label trainmesh.dev/fabric has no effect: the pod is labeled trainmesh.dev/inject=disabled")
)]
#[case::no_profile_of_an_opted_out_pod(
    excluded(labeled("trainmesh.dev/inject: disabled, trainmesh.dev/fabric: none").labelled("trainmesh.dev/inject", "enabled")),
    None
)]
#[case::in_an_excluded_namespace(
    in_excluded_namespace(labeled("trainmesh.dev/fabric: tcp")),
    Some("label trainmesh.dev/fabric has no effect: pods in this namespace are never changed")
)]
#[case::no_fabric_in_an_excluded_namespace(in_excluded_namespace(labeled("trainmesh.dev/fabric: none")), None)]
#[case::label_of_an_excluded_namespace(in_excluded_namespace(labeled("a: b").labelled("trainmesh.dev/fabric", "tcp")), None)]
#[case::no_fabric_without_opt_in(excluded(labeled("trainmesh.dev/fabric: none")), None)]
#[case::ambient(
    labeled("trainmesh.dev/mesh-traffic: disableCapture").labelled("istio.io/dataplane-mode", "ambient"),
    Some("label trainmesh.dev/mesh-traffic has no effect in ambient mode: label pods istio.io/dataplane-mode=none")
)]
#[case::ambient_of_the_namespace(
    labeled("a: b").labelled("istio.io/dataplane-mode", "ambient").labelled("trainmesh.dev/mesh-traffic", "disableInjection"),
    Some("namespace label trainmesh.dev/mesh-traffic has no effect in ambient mode: label pods istio.io/dataplane-mode=none")
)]
#[case::overridden_by_the_pod(
    labeled("trainmesh.dev/mesh-traffic: leave").labelled("istio.io/dataplane-mode", "ambient").labelled("trainmesh.dev/mesh-traffic", "disableInjection"),
    None
)]
#[case::leave_in_ambient_mode(labeled("trainmesh.dev/mesh-traffic: leave").labelled("istio.io/dataplane-mode", "ambient"), None)]
#[case::excluded_from_ambient_mode(
    labeled("istio.io/dataplane-mode: none, trainmesh.dev/mesh-traffic: disableCapture").labelled("istio.io/dataplane-mode", "ambient"),
    None
)]
fn fp045_traffic_modes(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP045", scenario, expected);
}

#[test]
fn fp045_has_a_fix_for_the_ambient_mesh() {
    let fix = |scenario: Scenario| {
        let findings = scenario.lint(&LintSettings::default());
        findings.into_iter().find(|finding| finding.code == "FP045").and_then(|finding| finding.fix)
    };
    let ambient = labeled("trainmesh.dev/mesh-traffic: disableCapture").labelled("istio.io/dataplane-mode", "ambient");
    assert_eq!(
        fix(ambient),
        Some(
            "label the pods istio.io/dataplane-mode: none, if their traffic must bypass the mesh, and remove the traffic mode"
        )
    );
    let other = fix(labeled("trainmesh.dev/mesh-trafic: direct")).unwrap();
    assert!(other.starts_with("correct or remove it; users set the labels inject, fabric,"), "{other}");
}

/// Returns a worker of a training job whose traffic Envoy captures.
fn captured() -> Scenario {
    labeled(
        "training.kubeflow.org/operator-name: pytorchjob-controller, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '1'",
    )
    .labelled("istio-injection", "enabled")
}

#[rstest]
#[case::opted_in(
    captured(),
    Some("NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=direct or disableCapture")
)]
#[case::labeled(captured().labelled("trainmesh.dev/mesh-traffic", "disableCapture"), None)]
#[case::excluded(
    excluded(captured()),
    Some("NCCL and Gloo hang behind Envoy, and trainmesh.dev/inject=disabled excludes the pod: remove the label")
)]
#[case::the_label_has_no_effect_then(
    excluded(captured().labelled("trainmesh.dev/mesh-traffic", "disableCapture")),
    Some("NCCL and Gloo hang behind Envoy, and trainmesh.dev/inject=disabled excludes the pod: remove the label")
)]
#[case::not_opted_in(
    captured().decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::NamespaceNotOptedIn, "a"),
    Some("NCCL and Gloo hang behind Envoy, and the pod is not opted in: label it sidecar.istio.io/inject=false")
)]
#[case::excluded_namespace(
    captured().decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::ExcludedNamespace, "a"),
    Some("NCCL and Gloo hang behind Envoy, and the namespace is excluded: label the pod sidecar.istio.io/inject=false")
)]
fn fp021_pods_that_are_not_opted_in(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP021", scenario, expected);
}

#[rstest]
#[case::opted_out(
    Reason::PodOptedOut,
    "remove the label trainmesh.dev/inject from the pod, label it sidecar.istio.io/inject: \"false\", or set"
)]
#[case::not_opted_in(
    Reason::NamespaceNotOptedIn,
    "label the namespace trainmesh.dev/inject: enabled, label the pod sidecar"
)]
#[case::excluded_namespace(
    Reason::ExcludedNamespace,
    "label the pod sidecar.istio.io/inject: \"false\", set its annotations traffic"
)]
#[case::off(
    Reason::MeshOff,
    "set mesh.enabled: true in the configuration and select a mode, label the pods sidecar.istio.io/inject: \"false\", or"
)]
#[case::istio_aux(
    Reason::IstioAuxNamespace,
    "trainmesh.dev/mesh-traffic: direct or disableCapture; with the label of istio-aux alone"
)]
#[case::unknown_peers(Reason::PeersUnknown, "if gang.enabled of the configuration is false, set it to true")]
fn fp021_has_a_fix_for_each_reason(#[case] reason: Reason, #[case] expected: &str) {
    let findings =
        captured().decided(RuleId::MeshTraffic, Verdict::Skipped, reason, "a").lint(&LintSettings::default());
    let fix = findings.iter().find(|finding| finding.code == "FP021").and_then(|finding| finding.fix).unwrap();
    assert!(fix.contains(expected) && !fix.contains("  "), "{fix}");
}

/// The webhook reads no object that shows the number of their pods.
#[rstest]
#[case::hyperpod("HPJob: a")]
#[case::dlrover("elasticjob.dlrover/name: a, elasticjob.dlrover/replica-type: worker")]
fn fp021_has_a_fix_for_kinds_that_are_not_read(#[case] labels: &str) {
    let scenario = labeled(labels).labelled("istio-injection", "enabled").replicas(2);
    let scenario = scenario.decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::PeersUnknown, "");
    let findings = scenario.lint(&LintSettings::default());
    let fix = findings.iter().find(|finding| finding.code == "FP021").and_then(|finding| finding.fix).unwrap();
    assert!(fix.ends_with("the webhook does not read objects of their kind"), "{fix}");
}

fn with_lock() -> Scenario {
    train("resources: {limits: {nvidia.com/gpu: 8}}")
        .profile("transport: ib\nsecurityContext: {capabilities: {add: [IPC_LOCK]}}")
        .labelled("pod-security.kubernetes.io/enforce", "baseline")
}

#[rstest]
#[case::unknown_decision(with_lock(), Some("profile site needs IPC_LOCK, which Pod Security baseline forbids"))]
#[case::applied(
    with_lock().decided(RuleId::Fabric, Verdict::Applied, Reason::FabricAdded, "site"),
    Some("profile site needs IPC_LOCK, which Pod Security baseline forbids")
)]
#[case::launcher(with_lock().decided(RuleId::Fabric, Verdict::Skipped, Reason::NoAccelerator, "site"), None)]
#[case::guarded(with_lock().refused(RuleId::Fabric, Reason::FabricGuarded, "site"), None)]
fn fp027_profiles_that_are_not_applied(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP027", scenario, expected);
}

/// Returns a pod to which a profile adds these variables.
fn set_by_profile(variables: &str) -> Scenario {
    let container = "name: train, resources: {limits: {nvidia.com/gpu: 8}}";
    pod(&format!("{{spec: {{containers: [{{{container}, env: [{variables}]}}]}}}}"))
        .original(&format!("{{spec: {{containers: [{{{container}}}]}}}}"))
        .profile("transport: ib")
}

#[rstest]
#[case::information("FP010", set_by_profile("{name: NCCL_IB_GID_INDEX, value: '3'}"), None)]
#[case::information_about_the_user(
    "FP010",
    env(&[("NCCL_IB_GID_INDEX", "3")]).profile("transport: ib"),
    Some("container train: NCCL_IB_GID_INDEX=3 overrides NCCL's detection")
)]
#[case::error(
    "FP005",
    set_by_profile("{name: NCCL_IB_RETRY_CNT, value: '100'}"),
    Some("profile site: container train: NCCL_IB_RETRY_CNT is 100, expected 0 to 7")
)]
fn settings_of_a_profile_are_attributed_to_it(
    #[case] id: &str,
    #[case] scenario: Scenario,
    #[case] expected: Option<&str>,
) {
    check(id, scenario, expected);
}
