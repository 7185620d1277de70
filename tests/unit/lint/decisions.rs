//! Checks of the labels and annotations of trainmesh itself, and of the decisions of its rules.

use rstest::rstest;
use trainmesh_core::config::LintSettings;
use trainmesh_core::finding::Severity;
use trainmesh_core::mutate::proxy_config::Refusal;
use trainmesh_core::mutate::{Reason, RuleId, Verdict};

use super::scenario::{Scenario, check, pod, train};

fn annotated(annotation: &str) -> Scenario {
    pod(&format!("{{metadata: {{annotations: {{{annotation}}}}}, spec: {{containers: []}}}}"))
}

pub fn labeled(labels: &str) -> Scenario {
    pod(&format!("{{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{{name: train}}]}}}}"))
}

/// Returns a pod with the main container `train` and the sidecars `logs` and, a native one, `metrics`.
fn named(annotation: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{annotations: {{{annotation}}}}}, spec: {{containers: [{{name: train}}, {{name: logs}}], \
          initContainers: [{{name: metrics, restartPolicy: Always}}, {{name: setup}}]}}}}"
    ))
}

#[rstest]
#[case::misspelled_key(
    labeled("trainmesh.dev/injct: disabled"),
    Some("label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?")
)]
#[case::unknown_value(
    labeled("trainmesh.dev/inject: 'false'"),
    Some("label trainmesh.dev/inject=false has no effect: expected disabled")
)]
#[case::label_as_annotation(
    annotated("trainmesh.dev/fabric: tcp"),
    Some("annotation trainmesh.dev/fabric has no effect here: it is a label, set it in metadata.labels")
)]
#[case::unknown_annotation(
    annotated("trainmesh.dev/color: red"),
    Some("annotation trainmesh.dev/color has no effect: use payload-containers, helper-containers, settle or 3 more")
)]
#[case::namespace(
    labeled("app: a").labelled("trainmesh.dev/injct", "enabled"),
    Some("namespace label trainmesh.dev/injct has no effect: did you mean trainmesh.dev/inject?")
)]
#[case::the_rule_reports_it(labeled("trainmesh.dev/mesh-traffic: 'off'"), None)]
#[case::port_that_istio_rejects(
    annotated("traffic.sidecar.istio.io/excludeOutboundPorts: '29500, 1x'").labelled("istio-injection", "enabled"),
    Some("annotation excludeOutboundPorts: Istio rejects the pod: expected a port, found \" 1x\"")
)]
#[case::range_that_istio_rejects(
    annotated("traffic.sidecar.istio.io/includeOutboundIPRanges: '10.0.0.0'").labelled("istio-injection", "enabled"),
    Some("annotation includeOutboundIPRanges: Istio rejects the pod: expected a CIDR, found \"10.0.0.0\"")
)]
#[case::blank_before_a_range(
    annotated("traffic.sidecar.istio.io/includeOutboundIPRanges: '10.0.0.0/8, 10.1.0.0/16'").labelled("istio-injection", "enabled"),
    Some("annotation includeOutboundIPRanges: Istio rejects the pod: expected a CIDR without blanks, found \" 10.1.0.0/16\"")
)]
#[case::blank_range(
    annotated("traffic.sidecar.istio.io/includeOutboundIPRanges: ' '").labelled("istio-injection", "enabled"),
    Some("annotation includeOutboundIPRanges: Istio rejects the pod: expected a CIDR, found \" \"")
)]
#[case::blank_ports(
    annotated("traffic.sidecar.istio.io/excludeInboundPorts: ' '").labelled("istio-injection", "enabled"),
    None
)]
#[case::interception_that_istio_rejects(
    annotated("sidecar.istio.io/interceptionMode: none").labelled("istio-injection", "enabled"),
    Some("annotation interceptionMode: Istio rejects the pod: expected REDIRECT, TPROXY or NONE, found \"none\"")
)]
#[case::annotation_of_a_pod_that_is_not_injected(annotated("sidecar.istio.io/interceptionMode: none"), None)]
#[case::valid_annotations(
    annotated(
        "traffic.sidecar.istio.io/excludeOutboundPorts: '29500, 22', traffic.sidecar.istio.io/includeInboundPorts: '*', \
         traffic.sidecar.istio.io/excludeInboundPorts: '', traffic.sidecar.istio.io/excludeOutboundIPRanges: '10.0.0.0/8,::/0'"
    )
    .labelled("istio-injection", "enabled"),
    None
)]
#[case::misspelled_hold(
    annotated("proxy.istio.io/config: '{concurrency: 2, holdApplicationUntilProxyStart: true}'").labelled("istio-injection", "enabled"),
    Some("annotation proxy.istio.io/config: holdApplicationUntilProxyStart should be holdApplicationUntilProxyStarts")
)]
#[case::snake_case_of_the_hold(
    annotated("proxy.istio.io/config: 'hold_application_until_proxy_starts: true'").labelled("istio-injection", "enabled"),
    None
)]
#[case::label_of_namespaces(
    labeled("istio-injection: disabled").labelled("istio-injection", "enabled"),
    Some("label istio-injection has no effect on a pod: label it sidecar.istio.io/inject=false")
)]
#[case::label_of_namespaces_on_a_pod_that_opts_out(
    labeled("istio-injection: disabled, sidecar.istio.io/inject: 'false'").labelled("istio-injection", "enabled"),
    None
)]
#[case::main_container(
    named("trainmesh.dev/payload-containers: 'train,trian'"),
    Some(
        "trainmesh.dev/payload-containers: the pod has no container trian: nothing will be terminated: did you mean train?"
    )
)]
#[case::sidecar(
    named("trainmesh.dev/helper-containers: 'log=fluent-bit'"),
    Some("trainmesh.dev/helper-containers: the pod has no container log: the entry has no effect: did you mean logs?")
)]
#[case::pair_with_a_colon(
    named("trainmesh.dev/helper-containers: 'logs:fluent-bit'"),
    Some("trainmesh.dev/helper-containers: logs:fluent-bit has no effect: did you mean logs=fluent-bit?")
)]
#[case::native_sidecar(named("trainmesh.dev/helper-containers: 'metrics, logs=fluent-bit, '"), None)]
#[case::a_native_sidecar_is_no_main_container(
    named("trainmesh.dev/payload-containers: metrics"),
    Some("trainmesh.dev/payload-containers: the pod has no container metrics: nothing will be terminated")
)]
#[case::containers_of_the_pod(named("trainmesh.dev/payload-containers: 'train, logs'"), None)]
#[case::known(labeled("trainmesh.dev/inject: disabled, trainmesh.dev/fabric: x").labelled("trainmesh.dev/inject", "audit"), None)]
fn fp045_keys_without_effect(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP045", scenario, expected);
}

#[rstest]
#[case::value_that_istio_rejects(
    annotated("traffic.sidecar.istio.io/excludeOutboundPorts: 'x'").labelled("istio-injection", "enabled"),
    "FP045", Severity::Error, "follow the message, or remove the label or annotation of Istio"
)]
#[case::value_that_istio_rejects_if_it_injects_the_pod(
    annotated("traffic.sidecar.istio.io/excludeOutboundPorts: 'x'").labelled("istio-injection", "enabled").assumed(),
    "FP045", Severity::Warning, "follow the message, or remove the label or annotation of Istio"
)]
#[case::value_without_effect(
    labeled("istio.io/dataplane-mode: None"),
    "FP045",
    Severity::Warning,
    "follow the message, or remove the label or annotation of Istio"
)]
#[case::containers(
    named("trainmesh.dev/payload-containers: 'train,trian'"),
    "FP045",
    Severity::Warning,
    "name containers of the pod in the annotation, or remove it"
)]
#[case::hold_that_istio_rejects(
    labeled("app: a").labelled("istio-injection", "enabled").refused(
        RuleId::MeshHold, Reason::ProxyConfigRefused, &format!("it {}", Refusal::Quoted.message())
    ).rejected_by_istio(),
    "FP046", Severity::Error, "follow the message, or opt out of the rule with a label of the pod; docs/rules.md lists the reasons"
)]
#[case::hold_that_istio_rejects_if_it_injects_the_pod(
    labeled("app: a").labelled("istio-injection", "enabled").assumed().refused(
        RuleId::MeshHold, Reason::ProxyConfigRefused, &format!("it {}", Refusal::Quoted.message())
    ).rejected_by_istio(),
    "FP046", Severity::Warning, "follow the message, or opt out of the rule with a label of the pod; docs/rules.md lists the reasons"
)]
#[case::configuration_that_is_only_ambiguous(
    labeled("app: a").labelled("istio-injection", "enabled").refused(
        RuleId::MeshHold, Reason::ProxyConfigRefused, &format!("it {}", Refusal::Syntax.message())
    ),
    "FP046", Severity::Warning, "follow the message, or opt out of the rule with a label of the pod; docs/rules.md lists the reasons"
)]
#[case::capture_that_istio_rejects(
    annotated("traffic.sidecar.istio.io/excludeInboundPorts: 'x'").labelled("istio-injection", "enabled").refused(
        RuleId::MeshTraffic, Reason::CaptureAnnotationInvalid, "excludeInboundPorts contains \"x\": expected a port"
    ),
    "FP046", Severity::Error, "correct the value of the label or annotation, or remove it; docs/rules.md lists the reasons"
)]
#[case::blanks_that_istio_accepts(
    annotated("traffic.sidecar.istio.io/excludeInboundPorts: ' '").labelled("istio-injection", "enabled").refused(
        RuleId::MeshTraffic, Reason::CaptureAnnotationInvalid, "excludeInboundPorts contains \" \": expected a port"
    ),
    "FP046", Severity::Warning, "correct the value of the label or annotation, or remove it; docs/rules.md lists the reasons"
)]
fn pods_that_istio_rejects_are_errors(
    #[case] scenario: Scenario,
    #[case] id: &str,
    #[case] severity: Severity,
    #[case] fix: &str,
) {
    let findings = scenario.lint(&LintSettings::default());
    let found = findings.iter().find(|finding| finding.code == id).map(|finding| (finding.severity, finding.fix));
    assert_eq!(found, Some((severity, Some(fix))), "{findings:#?}");
}

#[rstest]
#[case::refused(
    labeled("app: a").refused(RuleId::Fabric, Reason::FabricGuarded, "a guard failed"),
    Some("fabric is refused: FabricGuarded: a guard failed")
)]
#[case::not_refused(labeled("app: a"), None)]
#[case::fp049_reports_an_invalid_pod(
    labeled("app: a").invalid("/spec/a", "the apiserver rejects the pod: .spec.a is 5").refused(RuleId::MeshHold, Reason::NotAPod, "the object does not decode"),
    None
)]
#[case::another_invalid_object(
    labeled("app: a").refused(RuleId::MeshHold, Reason::NotAPod, "the object does not decode"),
    Some("mesh.hold is refused: NotAPod: the object does not decode")
)]
#[case::fp050_reports_sidecars(
    labeled("app: a").refused(RuleId::TerminationManaged, Reason::SidecarNotTerminated, "vault-agent keeps running"),
    None
)]
fn fp046_refused_rules(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP046", scenario, expected);
}

/// A rule that refuses a value needs another value, and other refusals have several ways out.
#[rstest]
#[case::profile(RuleId::Fabric, Reason::UnknownFabric, true)]
#[case::traffic_mode(RuleId::MeshTraffic, Reason::UnknownTrafficMode, true)]
#[case::ports(RuleId::MeshTraffic, Reason::MeshPortsInvalid, true)]
#[case::annotation_of_istio(RuleId::MeshTraffic, Reason::CaptureAnnotationInvalid, true)]
#[case::gang_mode(RuleId::Gang, Reason::UnknownGangMode, true)]
#[case::duration(RuleId::Checkpoint, Reason::CheckpointInputInvalid, true)]
#[case::conflict(RuleId::Fabric, Reason::FabricContradicted, false)]
#[case::port_of_the_job(RuleId::MeshTraffic, Reason::MemberPortCaptured, false)]
fn fp046_fixes_the_value(#[case] rule: RuleId, #[case] reason: Reason, #[case] is_value: bool) {
    let findings = labeled("app: a").refused(rule, reason, "a").lint(&LintSettings::default());
    let fix = findings.iter().find(|finding| finding.code == "FP046").and_then(|finding| finding.fix).unwrap();
    let expected =
        if is_value { "correct the value of the label or annotation, or remove it" } else { "follow the message" };
    assert!(fix.starts_with(expected), "{fix}");
}

/// Adds the decision of the rule `fabric` about a pod that requests EFA devices and selects no profile.
pub fn without_profile(scenario: Scenario) -> Scenario {
    let reason = Reason::FabricNotNamed;
    let message = format!("{}: the pod requests vpc.amazonaws.com/efa: profile eks-efa fits", reason.text());
    scenario.decided(RuleId::Fabric, Verdict::Skipped, reason, &message)
}

#[rstest]
#[case::a_profile_fits(
    without_profile(labeled("app: a")),
    Some("no fabric profile is selected, but the pod requests vpc.amazonaws.com/efa: profile eks-efa fits")
)]
#[case::none_fits(
    labeled("app: a").decided(RuleId::Fabric, Verdict::Skipped, Reason::FabricNotNamed, Reason::FabricNotNamed.text()),
    None
)]
#[case::another_rule(labeled("app: a").decided(RuleId::MeshHold, Verdict::Skipped, Reason::Ambient, "a: b"), None)]
fn fp047_profile_not_selected(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP047", scenario, expected);
}

/// Adds the decision of the rule `termination.managed` about a pod with a sidecar that keeps running.
pub fn with_running_sidecar(scenario: Scenario) -> Scenario {
    let note = "vault-agent keeps running: termination.portForward is false";
    scenario.decided_with(RuleId::TerminationManaged, Reason::SidecarNotTerminated, note)
}

/// Returns the scenario with the decision about a pod that opts out, in an injected namespace.
pub fn opting_out(scenario: Scenario) -> Scenario {
    let scenario = scenario.labelled("istio-injection", "enabled");
    scenario.decided(RuleId::MeshHold, Verdict::Skipped, Reason::PodOptedOut, Reason::PodOptedOut.text())
}

/// Returns a pod with these annotations and fields of its spec.
fn completing(annotations: &str, spec: &str) -> Scenario {
    pod(&format!("{{metadata: {{annotations: {{{annotations}}}, labels: {{a: b}}}}, spec: {{{spec}}}}}"))
}

const TRAIN: &str = "restartPolicy: Never, containers: [{name: train}]";
const MAY_RUN: Option<&str> =
    Some("trainmesh.dev/inject=disabled excludes the pod: a classic sidecar keeps it running");

#[rstest]
#[case::never(opting_out(completing("", TRAIN)), MAY_RUN)]
#[case::on_failure(opting_out(completing("", "restartPolicy: OnFailure, containers: [{name: train}]")), MAY_RUN)]
#[case::classic(
    opting_out(completing("sidecar.istio.io/nativeSidecar: 'false'", TRAIN)),
    Some("trainmesh.dev/inject=disabled excludes the pod: its classic sidecar keeps it running")
)]
#[case::native(opting_out(completing("sidecar.istio.io/nativeSidecar: 'true'", TRAIN)), None)]
#[case::always(opting_out(completing("", "restartPolicy: Always, containers: [{name: train}]")), None)]
#[case::default_policy(opting_out(completing("", "containers: [{name: train}]")), None)]
#[case::host_network(opting_out(completing("", &format!("hostNetwork: true, {TRAIN}"))), None)]
#[case::not_injected(opting_out(completing("sidecar.istio.io/inject: 'false'", TRAIN)), None)]
#[case::terminates(
    opting_out(completing(
        "",
        "restartPolicy: Never, containers: [{name: train, command: [sh, -c, 'a; curl -XPOST localhost:15020/quitquitquit']}]"
    )),
    None
)]
#[case::opted_in(completing("", TRAIN).labelled("istio-injection", "enabled"), None)]
fn fp061_pods_that_opt_out(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP061", scenario, expected);
}

const DAEMON: &str = "the pod may never complete: tcpxo-daemon is a regular container, which keeps running";

const NO_KILL: &str =
    "the pod may never complete: the image of fluent-bit contains no kill, by which the controller terminates it";

/// Returns a pod with this annotation and a second container, which the controller terminates.
fn terminated(annotation: &str, container: &str) -> Scenario {
    let scenario =
        completing(annotation, &format!("restartPolicy: Never, containers: [{{name: train}}, {{{container}}}]"));
    scenario.decided(RuleId::TerminationManaged, Verdict::Applied, Reason::HelpersManaged, "a")
}

/// Returns a pod with a second container.
fn with_daemon(container: &str) -> Scenario {
    completing("", &format!("restartPolicy: Never, containers: [{{name: train}}, {{{container}}}]"))
}

#[rstest]
#[case::keeps_running(
    with_running_sidecar(labeled("app: a")),
    Some("the pod may never complete: vault-agent keeps running: termination.portForward is false")
)]
#[case::terminated(
    labeled("app: a").decided(RuleId::TerminationManaged, Verdict::Applied, Reason::HelpersManaged, "a"),
    None
)]
#[case::image_without_kill(terminated("", "name: fluent-bit, image: 'fluent/fluent-bit:3.1'"), Some(NO_KILL))]
#[case::image_without_a_tag(
    terminated("", "name: fluent-bit, image: cr.fluentbit.io/fluent/fluent-bit"),
    Some(NO_KILL)
)]
#[case::image_of_another_name(
    terminated(
        "trainmesh.dev/helper-containers: logs=fluent-bit",
        "name: logs, image: 'docker.io/fluent/fluent-bit:3@sha256:0'"
    ),
    Some("the pod may never complete: the image of logs contains no kill, by which the controller terminates it")
)]
#[case::image_for_debugging(terminated("", "name: fluent-bit, image: 'fluent/fluent-bit:3.1-debug'"), None)]
#[case::image_of_others(terminated("", "name: fluent-bit, image: 'registry.example.com/fluent/fluent-bit:3.1'"), None)]
#[case::image_by_digest(terminated("", "name: fluent-bit, image: 'fluent/fluent-bit@sha256:0'"), None)]
#[case::image_of_a_container_that_is_not_terminated(
    with_daemon("name: fluent-bit, image: 'fluent/fluent-bit:3.1'"),
    None
)]
#[case::daemon(with_daemon("name: tcpxo-daemon"), Some(DAEMON))]
#[case::daemon_by_its_image(
    with_daemon("name: rxdm, image: 'us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/tcpgpudmarxd-dev:v2'"),
    Some("the pod may never complete: rxdm is a regular container, which keeps running")
)]
#[case::daemon_that_is_terminated(
    with_daemon("name: tcpx-daemon, args: ['while [ ! -e /share/done ]; do sleep 10; done; pkill -e tcpgpudmarxd']"),
    None
)]
#[case::daemon_that_is_declared(
    completing(
        "trainmesh.dev/helper-containers: 'a, tcpxo-daemon = vault-agent'",
        "restartPolicy: Never, containers: [{name: train}, {name: tcpxo-daemon}]"
    ),
    None
)]
#[case::daemon_of_the_catalog(
    with_daemon("name: tcpxo-daemon").decided(RuleId::TerminationManaged, Verdict::Applied, Reason::HelpersManaged, "a"),
    None
)]
#[case::native_daemon(
    completing(
        "",
        "restartPolicy: Never, containers: [{name: train}], initContainers: [{name: tcpxo-daemon, restartPolicy: Always}]"
    ),
    None
)]
#[case::daemon_of_a_pod_that_never_completes(
    completing("", "restartPolicy: Always, containers: [{name: train}, {name: tcpxo-daemon}]"),
    None
)]
#[case::daemon_of_a_worker(
    pod(
        "{metadata: {labels: {training.kubeflow.org/job-name: a, training.kubeflow.org/operator-name: mpi-operator, \
         training.kubeflow.org/replica-type: worker}, ownerReferences: [{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, name: a, \
         uid: a, controller: true}]}, spec: {restartPolicy: Never, containers: [{name: train}, {name: tcpxo-daemon}]}}"
    ),
    None
)]
fn fp050_running_sidecars(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP050", scenario, expected);
}

#[rstest]
#[case::field(train("resorces: {}"), Some("Container has no field resorces: did you mean resources?"))]
#[case::nested(
    train("resources: {limit: {cpu: 1}}"),
    Some("ResourceRequirements has no field limit: did you mean limits?")
)]
#[case::limits_of_resources(
    train("limits: {cpu: 1}"),
    Some("Container has no field limits: did you mean resources.limits?")
)]
#[case::no_similar_field(train("gpus: 8"), Some("Container has no field gpus"))]
#[case::value(
    pod("{spec: {restartPolicy: Nevr, containers: [{name: train}]}}"),
    Some("the apiserver rejects restartPolicy=Nevr: did you mean Never?")
)]
#[case::distant_value(
    pod("{spec: {dnsPolicy: Host, containers: [{name: train}]}}"),
    Some("the apiserver rejects dnsPolicy=Host: expected ClusterFirst, ClusterFirstWithHostNet, Default or None")
)]
#[case::no_containers(pod("{spec: {contaners: []}}"), Some("the apiserver rejects a pod without containers"))]
#[case::known(train("image: i, resources: {limits: {cpu: 1}}"), None)]
#[case::another_kind(train("gpus: 8").generic(), None)]
fn fp049_unknown_fields(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP049", scenario, expected);
}
