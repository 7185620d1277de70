//! Labels and annotations without effect.

use rstest::rstest;

use super::*;
use crate::config::Configuration;

#[rstest]
#[case::capital_domain(
    PodLabel,
    "Trainmesh.dev/gang",
    "kai",
    Some("Trainmesh.dev/gang has no effect: did you mean trainmesh.dev/gang?")
)]
#[case::misspelled_domain(
    PodLabel,
    "trainmsh.dev/gang",
    "kai",
    Some("trainmsh.dev/gang has no effect: did you mean trainmesh.dev/gang?")
)]
#[case::other_project(PodLabel, "training.dev/gang", "a", None)]
#[case::misspelled_istio_annotation(
    PodAnnotation,
    "sidecar.istio.io/injct",
    "false",
    Some("sidecar.istio.io/injct has no effect: did you mean sidecar.istio.io/inject?")
)]
#[case::misspelled_istio_label(
    PodLabel,
    "istio.io/dataplane-mod",
    "none",
    Some("istio.io/dataplane-mod has no effect: did you mean istio.io/dataplane-mode?")
)]
#[case::misspelled_ports(
    PodAnnotation,
    "traffic.sidecar.istio.io/excludeInboundPort",
    "22",
    Some(
        "traffic.sidecar.istio.io/excludeInboundPort has no effect: did you mean traffic.sidecar.istio.io/excludeInboundPorts?"
    )
)]
#[case::misspelled_templates(
    PodAnnotation,
    "inject.istio.io/template",
    "sidecar",
    Some("inject.istio.io/template has no effect: did you mean inject.istio.io/templates?")
)]
#[case::templates(PodAnnotation, "inject.istio.io/templates", "sidecar", None)]
#[case::similar_istio_annotation(PodAnnotation, "traffic.sidecar.istio.io/includeOutboundPorts", "22", None)]
#[case::other_istio_annotation(PodAnnotation, "sidecar.istio.io/proxyCPULimit", "2", None)]
#[case::istio_revision(PodLabel, "istio.io/rev", "canary", None)]
#[case::opt_in(NamespaceLabel, "trainmesh.dev/inject", "enabled", None)]
#[case::pod_security(NamespaceLabel, "pod-security.kubernetes.io/enforce", "baseline", None)]
#[case::unknown_pod_security(
    NamespaceLabel,
    "pod-security.kubernetes.io/enforce",
    "baselin",
    Some("pod-security.kubernetes.io/enforce=baselin: unknown level: did you mean baseline?")
)]
#[case::pod_security_of_a_pod(PodLabel, "pod-security.kubernetes.io/enforce", "baselin", None)]
#[case::empty_opt_in(
    NamespaceLabel,
    "trainmesh.dev/inject",
    "",
    Some("trainmesh.dev/inject=\"\" has no effect: expected enabled or audit")
)]
#[case::empty_gang_mode(
    PodLabel,
    "trainmesh.dev/gang",
    "",
    Some(
        "trainmesh.dev/gang=\"\": unknown mode: expected none, auto, native, volcano, coscheduling, kai, yunikorn, koordinator or kueue"
    )
)]
#[case::empty_settle(
    PodAnnotation,
    "trainmesh.dev/settle",
    "",
    Some("trainmesh.dev/settle=\"\" has no effect: expected a duration such as 90s")
)]
#[case::empty_injection(
    PodLabel,
    "sidecar.istio.io/inject",
    "",
    Some("sidecar.istio.io/inject=\"\" has no effect: expected true or false")
)]
#[case::istio_aux(NamespaceLabel, "io.datastrophic/istio-aux", "enabled", None)]
#[case::istio_aux_opt_out(NamespaceLabel, "io.datastrophic/istio-aux", "disabled", None)]
#[case::value_of_istio_aux(
    NamespaceLabel,
    "io.datastrophic/istio-aux",
    "Enabled",
    Some("io.datastrophic/istio-aux=Enabled has no effect: did you mean enabled?")
)]
#[case::distant_value_of_istio_aux(
    NamespaceLabel,
    "io.datastrophic/istio-aux",
    "",
    Some("io.datastrophic/istio-aux=\"\" has no effect: expected enabled")
)]
#[case::misspelled_istio_aux(
    NamespaceLabel,
    "io.datastrophic/istio_aux",
    "enabled",
    Some("io.datastrophic/istio_aux has no effect: did you mean io.datastrophic/istio-aux?")
)]
#[case::misspelled_domain_of_istio_aux(
    NamespaceLabel,
    "io.datastrofic/istio-aux",
    "enabled",
    Some("io.datastrofic/istio-aux has no effect: did you mean io.datastrophic/istio-aux?")
)]
#[case::istio_aux_of_a_pod(
    PodLabel,
    "io.datastrophic/istio-aux",
    "enabled",
    Some("io.datastrophic/istio-aux has no effect here: it is a namespace label")
)]
#[case::istio_aux_as_an_annotation(
    NamespaceAnnotation,
    "io.datastrophic/istio-aux",
    "enabled",
    Some("io.datastrophic/istio-aux has no effect here: it is a namespace label")
)]
#[case::misspelled_istio_aux_of_a_pod(
    PodLabel,
    "io.datastrophic/istio-axu",
    "enabled",
    Some("io.datastrophic/istio-axu has no effect: did you mean io.datastrophic/istio-aux, a namespace label?")
)]
#[case::other_key_of_datastrophic(PodLabel, "io.datastrophic/color", "a", None)]
#[case::gang_mode(NamespaceLabel, "trainmesh.dev/gang", "koordinator", None)]
#[case::gang_mode_of_a_pod(PodLabel, "trainmesh.dev/gang", "none", None)]
#[case::misspelled_gang_mode(
    NamespaceLabel,
    "trainmesh.dev/gang",
    "vulcano",
    Some("trainmesh.dev/gang=vulcano: unknown mode: did you mean volcano?")
)]
#[case::explicit_opt_out(NamespaceLabel, "trainmesh.dev/inject", "disabled", None)]
#[case::value(
    NamespaceLabel,
    "trainmesh.dev/inject",
    "Enabled",
    Some("trainmesh.dev/inject=Enabled has no effect: did you mean enabled?")
)]
#[case::distant_value(
    NamespaceLabel,
    "trainmesh.dev/inject",
    "true",
    Some("trainmesh.dev/inject=true has no effect: expected enabled or audit")
)]
#[case::key(
    NamespaceLabel,
    "trainmesh.dev/injct",
    "enabled",
    Some("trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?")
)]
#[case::distant_key(
    NamespaceLabel,
    "trainmesh.dev/color",
    "",
    Some("trainmesh.dev/color has no effect: use inject, fabric, gang or mesh-traffic")
)]
#[case::annotation_of_pods(
    NamespaceLabel,
    "trainmesh.dev/settle",
    "1s",
    Some("trainmesh.dev/settle has no effect here: it is an annotation of pods")
)]
#[case::traffic(
    NamespaceLabel,
    "trainmesh.dev/mesh-traffic",
    "disablecapture",
    Some("trainmesh.dev/mesh-traffic=disablecapture: unknown mode: did you mean disableCapture?")
)]
#[case::label_as_annotation_of_a_namespace(
    NamespaceAnnotation,
    "trainmesh.dev/fabric",
    "tcp",
    Some("trainmesh.dev/fabric has no effect here: it is a label, set it in metadata.labels")
)]
#[case::annotation_of_pods_on_a_namespace(
    NamespaceAnnotation,
    "trainmesh.dev/settle",
    "1s",
    Some("trainmesh.dev/settle has no effect here: it is an annotation of pods")
)]
#[case::misspelled_annotation_of_a_namespace(
    NamespaceAnnotation,
    "trainmesh.dev/mesh-traffc",
    "direct",
    Some("trainmesh.dev/mesh-traffc has no effect: did you mean trainmesh.dev/mesh-traffic, a label?")
)]
#[case::unknown_annotation_of_a_namespace(
    NamespaceAnnotation,
    "trainmesh.dev/color",
    "",
    Some("trainmesh.dev/color has no effect: trainmesh reads annotations of pods only")
)]
#[case::first_word_of_another_annotation(
    NamespaceAnnotation,
    "trainmesh.dev/checkpoints",
    "",
    Some(
        "trainmesh.dev/checkpoints has no effect: did you mean trainmesh.dev/checkpoint-write-time, an annotation of pods?"
    )
)]
#[case::first_word(
    PodAnnotation,
    "trainmesh.dev/checkpoint-cost",
    "30s",
    Some("trainmesh.dev/checkpoint-cost has no effect: did you mean trainmesh.dev/checkpoint-write-time?")
)]
#[case::distant_annotation(
    PodAnnotation,
    "trainmesh.dev/color",
    "",
    Some("trainmesh.dev/color has no effect: use payload-containers, helper-containers, settle or 3 more")
)]
#[case::injection(NamespaceLabel, "istio-injection", "disabled", None)]
#[case::misspelled_injection(
    NamespaceLabel,
    "istio-injection",
    "enable",
    Some("istio-injection=enable is treated as disabled: did you mean enabled?")
)]
#[case::misspelled_mode(
    NamespaceLabel,
    "istio.io/dataplane-mode",
    "ambiant",
    Some("istio.io/dataplane-mode=ambiant has no effect: did you mean ambient?")
)]
#[case::distant_mode(
    NamespaceLabel,
    "istio.io/dataplane-mode",
    "x",
    Some("istio.io/dataplane-mode=x has no effect: expected ambient or none")
)]
#[case::misspelled_key_of_istio(
    NamespaceLabel,
    "istio-injecton",
    "enabled",
    Some("istio-injecton has no effect: did you mean istio-injection?")
)]
#[case::revision(NamespaceLabel, "istio.io/rev", "canary", None)]
#[case::other_key_of_istio(NamespaceLabel, "istio.io/use-waypoint", "w", None)]
#[case::misspelled_mode_of_a_pod(
    PodLabel,
    "istio.io/dataplane-mode",
    "None",
    Some("istio.io/dataplane-mode=None has no effect: did you mean none?")
)]
#[case::key_of_istio_on_a_pod(PodLabel, "istio-injecton", "enabled", None)]
#[case::pod_opt_out(PodLabel, "trainmesh.dev/inject", "disabled", None)]
#[case::pod_opt_out_by_false(
    PodLabel,
    "trainmesh.dev/inject",
    "false",
    Some("trainmesh.dev/inject=false has no effect: expected disabled")
)]
#[case::pods_cannot_opt_in(
    PodLabel,
    "trainmesh.dev/inject",
    "enabled",
    Some("trainmesh.dev/inject=enabled has no effect: expected disabled")
)]
#[case::any_fabric(PodLabel, "trainmesh.dev/fabric", "x", None)]
#[case::written_label(PodLabel, "trainmesh.dev/managed", "true", None)]
#[case::label_as_annotation(
    PodAnnotation,
    "trainmesh.dev/fabric",
    "tcp",
    Some("trainmesh.dev/fabric has no effect here: it is a label, set it in metadata.labels")
)]
#[case::written_annotation(PodAnnotation, "trainmesh.dev/refused", "fabric=FabricGuarded", None)]
#[case::duration(PodAnnotation, "trainmesh.dev/settle", "90s", None)]
#[case::no_duration(
    PodAnnotation,
    "trainmesh.dev/settle",
    "90",
    Some("trainmesh.dev/settle=90 has no effect: expected a duration such as 90s")
)]
#[case::ports(PodAnnotation, "trainmesh.dev/mesh-ports", "8080, 6006", None)]
#[case::no_ports(PodAnnotation, "trainmesh.dev/mesh-ports", "", None)]
#[case::no_port(
    PodAnnotation,
    "trainmesh.dev/mesh-ports",
    "80,abc",
    Some("trainmesh.dev/mesh-ports=80,abc has no effect: expected ports such as 8080,6006")
)]
#[case::ports_as_label(
    PodLabel,
    "trainmesh.dev/mesh-ports",
    "abc",
    Some("trainmesh.dev/mesh-ports has no effect here: it is an annotation of pods, set it in metadata.annotations")
)]
#[case::annotation_key(
    PodAnnotation,
    "trainmesh.dev/settled",
    "",
    Some("trainmesh.dev/settled has no effect: did you mean trainmesh.dev/settle?")
)]
#[case::misspelled_annotation_as_label(
    PodLabel,
    "trainmesh.dev/mesh-port",
    "6006",
    Some("trainmesh.dev/mesh-port has no effect: did you mean trainmesh.dev/mesh-ports, an annotation of pods?")
)]
#[case::another_domain(
    PodLabel,
    "trainmesh.io/fabric",
    "tcp",
    Some("trainmesh.io/fabric has no effect: did you mean trainmesh.dev/fabric?")
)]
#[case::key_of_another_domain(PodLabel, "trainmesh.io/team", "a", None)]
#[case::key_of_others(PodLabel, "istio.io/use-waypoint", "x", None)]
#[case::ambient(NamespaceLabel, "istio.io/dataplane-mode", "ambient", None)]
#[case::out_of_ambient(PodLabel, "istio.io/dataplane-mode", "none", None)]
#[case::injection_of_a_pod(PodLabel, "sidecar.istio.io/inject", "false", None)]
#[case::unknown_injection_of_a_pod(
    PodLabel,
    "sidecar.istio.io/inject",
    "no",
    Some("sidecar.istio.io/inject=no has no effect since Istio 1.27: expected true or false")
)]
#[case::native_sidecar(PodAnnotation, "sidecar.istio.io/nativeSidecar", "false", None)]
#[case::native_sidecar_by_default(PodAnnotation, "sidecar.istio.io/nativeSidecar", "", None)]
#[case::native_sidecar_by_another_value(PodAnnotation, "sidecar.istio.io/nativeSidecar", "True", None)]
#[case::native_sidecar_against_the_intent(
    PodAnnotation,
    "sidecar.istio.io/nativeSidecar",
    "False",
    Some("sidecar.istio.io/nativeSidecar=False requests a native sidecar: did you mean false?")
)]
#[case::native_sidecar_by_no(
    PodAnnotation,
    "sidecar.istio.io/nativeSidecar",
    "No",
    Some("sidecar.istio.io/nativeSidecar=No requests a native sidecar: did you mean false?")
)]
#[case::native_sidecar_as_a_label(
    PodLabel,
    "sidecar.istio.io/nativeSidecar",
    "true",
    Some(
        "sidecar.istio.io/nativeSidecar has no effect here: it is an annotation of pods, set it in metadata.annotations"
    )
)]
#[case::misspelled_injection_of_a_pod(
    PodAnnotation,
    "sidecar.istio.io/inject",
    "False",
    Some("sidecar.istio.io/inject=False has no effect since Istio 1.27: did you mean false?")
)]
#[case::injection_label_of_a_pod(PodLabel, "istio-injection", "enable", None)]
fn entries_without_effect_are_reported(
    #[case] location: Location,
    #[case] key: &str,
    #[case] value: &str,
    #[case] expected: Option<&str>,
) {
    assert_eq!(problem(location, key, value).as_deref(), expected);
}

#[rstest]
#[case::none("none", None)]
#[case::known("eks-efa", None)]
#[case::near("eks-efaa", Some("trainmesh.dev/fabric=eks-efaa: no fabric profile has this name: did you mean eks-efa?"))]
#[case::no_profile("None", Some("trainmesh.dev/fabric=None: no fabric profile has this name: did you mean none?"))]
#[case::example(
    "hgx-rails",
    Some(
        "trainmesh.dev/fabric=hgx-rails: no fabric profile has this name: it is an example: add the profile of examples/fabric/hgx-rails.yaml to the configuration"
    )
)]
#[case::empty("", Some("trainmesh.dev/fabric=\"\": no fabric profile has this name: remove the label, or use none"))]
#[case::distant(
    "x",
    Some(
        "trainmesh.dev/fabric=x: no fabric profile has this name: trainmesh fabric list shows all, with --config also yours"
    )
)]
fn unknown_profiles_are_reported(#[case] value: &str, #[case] expected: Option<&str>) {
    let profiles = Configuration::embedded().fabric.profiles;
    assert_eq!(fabric_problem(value, &profiles).as_deref(), expected);
}

/// A key that is missing here would be reported as unknown.
#[test]
fn every_key_is_known() {
    let literals = include_str!("../keys.rs").lines().filter_map(|line| line.split('"').nth(1));
    let own: Vec<&str> =
        literals.filter(|key| key.len() > keys::OWN_PREFIX.len() && key.starts_with(keys::OWN_PREFIX)).collect();
    assert!(own.len() >= KNOWN.len(), "{own:?}");
    for key in own {
        assert!(KNOWN.iter().any(|(known, _)| *known == key), "{key} is not in KNOWN");
    }
}

#[test]
fn long_text_is_truncated() {
    let message = problem(PodAnnotation, &format!("trainmesh.dev/{}", "é".repeat(99)), "").unwrap();
    assert!(message.len() < 160, "{message}");
}
