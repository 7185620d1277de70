//! Checks of the pod's networks, namespace and job, and of what is known about the cluster.

use rstest::rstest;

use trainmesh_core::config::LintSettings;
use trainmesh_core::mutate::{Reason, RuleId, Verdict};

use super::scenario::{Scenario, check, pod, train};

const RDMA: &str = "resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}";
const LOCK: &str = "securityContext: {capabilities: {add: [IPC_LOCK]}}";
const SHARED: &str = "transport: roce\nresources: [{name: rdma/ib, mode: perPod}]";
const ATTACHED: &str = "k8s.v1.cni.cncf.io/networks";

fn annotated(annotation: &str, spec: &str) -> Scenario {
    pod(&format!("{{metadata: {{annotations: {{{annotation}}}}}, spec: {{{spec}}}}}"))
}

#[rstest]
#[case::alone(train(RDMA).profile(SHARED), Some("container train: rdma/ib over RoCE without a secondary network"))]
#[case::attached(annotated(&format!("{ATTACHED}: macvlan"), &format!("containers: [{{name: train, {RDMA}}}]")).profile(SHARED), None)]
#[case::host_network(pod(&format!("{{spec: {{hostNetwork: true, containers: [{{name: train, {RDMA}}}]}}}}")).profile(SHARED), None)]
#[case::infiniband(train(RDMA).profile("transport: ib\nresources: [{name: rdma/ib, mode: perPod}]"), None)]
#[case::per_gpu_functions(train(RDMA).profile("transport: roce\nresources: [{name: rdma/ib, mode: perGpu}]"), None)]
#[case::no_profile(train(RDMA), None)]
fn fp017_roce_without_secondary_network(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP017", scenario, expected);
}

fn functions(networks: &str, count: u64) -> Scenario {
    let container =
        format!("{{name: train, resources: {{limits: {{nvidia.com/gpu: 2, nvidia.com/rdma-vf: {count}}}}}}}");
    annotated(&format!("{ATTACHED}: {networks:?}"), &format!("containers: [{container}]"))
}

/// Returns a pod with two units of `resource`, one for each GPU, and the only network of its profile.
fn own_functions(resource: &str, transport: &str) -> Scenario {
    let container = format!("{{name: train, resources: {{limits: {{nvidia.com/gpu: 2, {resource}: 2}}}}}}");
    let profile = format!(
        "{transport}\nresources: [{{name: {resource}, mode: perGpu}}]\nnetworks: {{multus: {{attach: [{{name: fabric/roce}}]}}}}"
    );
    annotated(&format!("{ATTACHED}: fabric/roce"), &format!("containers: [{container}]")).profile(&profile)
}

const EACH: &str = "transport: roce\nresources: [{name: nvidia.com/rdma-vf, mode: perGpu}]\n\
                    networks: {multus: {attach: [{name: team/vf, count: perResource}]}}";

#[rstest]
#[case::too_few(functions("vf,vf", 3), Some("2 networks for 3 nvidia.com/rdma-vf: each needs exactly one"))]
#[case::too_many(functions("vf,vf", 1), Some("2 networks for 1 nvidia.com/rdma-vf: each needs exactly one"))]
#[case::one_for_each(functions("team/vf,vf@net7", 2), None)]
#[case::istio_cni_is_not_a_device_network(functions("vf,default/istio-cni", 1), None)]
#[case::another_network_may_be_unrelated(functions("vf,macvlan", 1), None)]
#[case::the_profile_names_the_network(functions("vf,vf,macvlan", 3).profile(EACH), Some("2 networks for 3 nvidia.com/rdma-vf: each needs exactly one"))]
#[case::resource_of_the_profile(
    annotated(&format!("{ATTACHED}: storage"), "containers: [{name: train, resources: {limits: {nvidia.com/gpu: 2, example.com/ib: 2}}}]").profile(&EACH.replace("nvidia.com/rdma-vf", "example.com/ib")),
    Some("0 networks for 2 example.com/ib: each needs exactly one")
)]
#[case::resource_of_a_profile_without_networks(
    annotated(&format!("{ATTACHED}: storage"), "containers: [{name: train, resources: {limits: {nvidia.com/gpu: 2, example.com/ib: 2}}}]").profile("transport: roce\nresources: [{name: example.com/ib, mode: perGpu}]"),
    None
)]
#[case::one_network_of_the_profile(
    own_functions("example.com/vf", "transport: roce"),
    Some("1 networks for 2 example.com/vf: each needs exactly one")
)]
#[case::infiniband_needs_no_address(own_functions("example.com/vf", "transport: ib"), None)]
#[case::shared_adapter(own_functions("example.com/shared", "transport: roce"), None)]
#[case::matches_the_profile(functions("vf,vf,macvlan", 2).profile(EACH), None)]
#[case::misspelled_key(
    annotated("k8s.v1.cni.cncf.io/network: macvlan", &format!("containers: [{{name: train, {RDMA}}}]")),
    Some("annotation k8s.v1.cni.cncf.io/network attaches no network: did you mean k8s.v1.cni.cncf.io/networks?")
)]
#[case::status_of_networks(
    annotated("k8s.v1.cni.cncf.io/network-status: a", &format!("containers: [{{name: train, {RDMA}}}]")),
    None
)]
#[case::no_function(annotated(&format!("{ATTACHED}: macvlan"), &format!("containers: [{{name: train, {RDMA}}}]")), None)]
fn fp018_networks_per_virtual_function(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP018", scenario, expected);
}

#[test]
fn fp018_counts_networks_beside_a_misspelled_key() {
    let limits = "{nvidia.com/gpu: 2, nvidia.com/rdma-vf: 2}";
    let containers = format!("containers: [{{name: train, resources: {{limits: {limits}}}}}]");
    let findings = annotated("k8s.v1.cni.cncf.io/network: macvlan", &containers).lint(&LintSettings::default());
    let count = "0 networks for 2 nvidia.com/rdma-vf: each needs exactly one";
    assert!(findings.iter().any(|finding| finding.message == count), "{findings:#?}");
}

/// Returns a pod of a job with several pods.
fn trainer(metadata: &str, labels: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, \
          training.kubeflow.org/job-name: a, training.kubeflow.org/replica-type: worker, \
          training.kubeflow.org/replica-index: '1'{labels}}}{metadata}}}, spec: {{containers: [{{name: train}}]}}}}"
    ))
}

/// Returns a pod of a job with several pods, with this spec.
fn rank(spec: &str, labels: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, \
          training.kubeflow.org/job-name: a, training.kubeflow.org/replica-type: worker, \
          training.kubeflow.org/replica-index: '1'{labels}}}}}, spec: {{{spec}}}}}"
    ))
}

/// Returns a pod of a job with a sidecar.
fn injected() -> Scenario {
    pod(
        r#"{metadata: {labels: {training.kubeflow.org/operator-name: pytorchjob-controller, training.kubeflow.org/job-name: a,
              training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '1'},
            annotations: {sidecar.istio.io/status: '{"containers": ["istio-proxy"]}'}},
            spec: {containers: [{name: train}, {name: istio-proxy}]}}"#,
    )
}

/// Returns a pod of a job in the mesh, about whose traffic the rule has decided.
fn decided(outcome: Verdict, reason: Reason) -> Scenario {
    trainer("", "").labelled("istio-injection", "enabled").decided(RuleId::MeshTraffic, outcome, reason, "")
}

const CAPTURED: &str =
    "NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=direct or disableCapture";
/// Returns `scenario` in the mesh, with a label that selects `mode`, which the rule skips.
fn labelled(scenario: Scenario, mode: &str, reason: Reason) -> Scenario {
    let scenario = scenario.labelled("istio-injection", "enabled").labelled("trainmesh.dev/mesh-traffic", mode);
    scenario.decided(RuleId::MeshTraffic, Verdict::Skipped, reason, "")
}

/// Metadata of a pod without capture.
const CAPTURE_OFF: &str = ", annotations: {traffic.sidecar.istio.io/includeInboundPorts: '', \
                           traffic.sidecar.istio.io/includeOutboundIPRanges: ''}";
const CAPTURED_BY_THE_POD: &str =
    "NCCL and Gloo hang behind Envoy: annotations traffic.sidecar.istio.io of the pod override the mode";
const GROUP: &str = "NCCL and Gloo hang behind Envoy: label the group trainmesh.dev/mesh-traffic=disableCapture";

const UNKNOWN: &str = "NCCL and Gloo hang behind Envoy, and direct skips the pod: label it \
                       trainmesh.dev/mesh-traffic=disableCapture";
const AUDIT: &str =
    "NCCL and Gloo hang behind Envoy until audit mode ends: label the namespace trainmesh.dev/inject=enabled";

/// Returns a worker that excludes an interface from capture, with these other annotations, and `variable` set to eth0.
fn limited(annotations: &str, variable: &str) -> Scenario {
    let annotations = format!("{{traffic.sidecar.istio.io/excludeInterfaces: net1{annotations}}}");
    pod(&format!(
        "{{metadata: {{annotations: {annotations}, labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, \
          training.kubeflow.org/job-name: a, training.kubeflow.org/replica-type: worker, \
          training.kubeflow.org/replica-index: '1'}}}}, \
          spec: {{containers: [{{name: train, env: [{{name: {variable}, value: eth0}}]}}]}}}}"
    ))
    .labelled("istio-injection", "enabled")
}

const INTERFACE: &str =
    "NCCL or Gloo hangs behind Envoy: a *_SOCKET_IFNAME allows eth0, which excludeInterfaces does not list";
const LEFT: &str = "NCCL and Gloo hang behind Envoy, and trainmesh.dev/mesh-traffic=leave does not change that";
/// Pods with accelerators that NCCL does not use.
const TPU: &str = "containers: [{name: train, resources: {limits: {google.com/tpu: 4}}}, {name: log}]";
const OTHER_LIBRARY: &str =
    "connections between ranks pass through Envoy, whose effect on this kind of accelerator was not measured";
const NO_JOB: &str = "label trainmesh.dev/mesh-traffic=direct has no effect: the pod belongs to no training job";
/// A container that runs torchrun on two nodes.
const RANK: &str = "command: [torchrun, --nnodes=2, train.py]";

/// Returns a pod that the mode `direct` skips, because it belongs to no training job.
fn not_training(spec: &str, labels: &str) -> Scenario {
    let pod = pod(&format!("{{metadata: {{labels: {{{labels}}}}}, spec: {{{spec}}}}}"));
    pod.decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::NotTraining, "")
}

/// Like [`not_training`], with a container of these fields, behind Envoy.
fn outside(fields: &str, labels: &str) -> Scenario {
    not_training(&format!("containers: [{{name: train, {fields}}}]"), labels).labelled("istio-injection", "enabled")
}

/// Returns a leader of a `LeaderWorkerSet` whose groups have `size` pods.
fn group(size: &str, labels: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{labels: {{leaderworkerset.sigs.k8s.io/name: a, leaderworkerset.sigs.k8s.io/worker-index: '0'{labels}}}, \
          annotations: {{leaderworkerset.sigs.k8s.io/size: '{size}'}}}}, spec: {{containers: [{{name: serve}}]}}}}"
    ))
}

#[rstest]
#[case::captured(
    trainer("", "").labelled("istio-injection", "enabled"),
    Some(CAPTURED)
)]
#[case::no_mesh(trainer("", ""), None)]
#[case::injection_set_by_the_pod(
    labelled(trainer("", ", sidecar.istio.io/inject: 'true'"), "disableInjection", Reason::InjectionSetByUser),
    Some("NCCL and Gloo hang behind Envoy: sidecar.istio.io/inject of the pod overrides the mode disableInjection")
)]
#[case::proxy_of_the_pod(
    labelled(trainer("", ""), "disableInjection", Reason::ProxyCustomized),
    Some("NCCL and Gloo hang behind Envoy: disableInjection skips the pod, which has its own container istio-proxy")
)]
#[case::proxy_of_the_pod_with_a_mode_of_its_profile(
    decided(Verdict::Skipped, Reason::ProxyCustomized),
    Some("NCCL and Gloo hang behind Envoy: disableInjection skips the pod, which has its own container istio-proxy")
)]
#[case::injected_before(
    labelled(injected(), "disableInjection", Reason::AlreadyInjected),
    Some("NCCL and Gloo hang behind Envoy: the mode has no effect, because the proxy is injected already")
)]
#[case::injected_before_without_capture(
    labelled(trainer(CAPTURE_OFF, ""), "disableCapture", Reason::AlreadyInjected),
    None
)]
#[case::both_directions_requested(
    labelled(
        trainer(
            ", annotations: {traffic.sidecar.istio.io/includeInboundPorts: '*', traffic.sidecar.istio.io/includeOutboundIPRanges: '*'}",
            ""
        ),
        "disableCapture",
        Reason::TrafficSetByUser
    ),
    Some(CAPTURED_BY_THE_POD)
)]
#[case::one_direction_requested(
    trainer(
        ", annotations: {traffic.sidecar.istio.io/includeInboundPorts: '*', traffic.sidecar.istio.io/includeOutboundIPRanges: ''}",
        ""
    )
    .labelled("istio-injection", "enabled")
    .decided(RuleId::MeshTraffic, Verdict::Applied, Reason::CaptureDisabled, ""),
    Some(CAPTURED_BY_THE_POD)
)]
#[case::directions_limited(
    labelled(
        trainer(
            ", annotations: {traffic.sidecar.istio.io/includeInboundPorts: '8080', traffic.sidecar.istio.io/includeOutboundIPRanges: 10.96.0.0/12}",
            ""
        ),
        "disableCapture",
        Reason::TrafficSetByUser
    ),
    None
)]
#[case::capture_requested_without_a_mode(
    trainer(", annotations: {traffic.sidecar.istio.io/includeInboundPorts: '*'}", "").labelled("istio-injection", "enabled"),
    Some(CAPTURED)
)]
#[case::ports_excluded_from_the_request(
    trainer(", annotations: {traffic.sidecar.istio.io/includeInboundPorts: '*', traffic.sidecar.istio.io/excludeInboundPorts: '29500'}", "")
        .labelled("istio-injection", "enabled"),
    None
)]
#[case::gateway(
    labelled(trainer(", annotations: {inject.istio.io/templates: gateway}", ""), "disableCapture", Reason::GatewayPod),
    None
)]
#[case::left_by_the_namespace(trainer("", "").labelled("istio-injection", "enabled").labelled("trainmesh.dev/mesh-traffic", "leave"), Some(LEFT))]
#[case::traffic_label_set(trainer("", "").labelled("istio-injection", "enabled").labelled("trainmesh.dev/mesh-traffic", "disableCapture"), None)]
#[case::interfaces_excluded(
    trainer(", annotations: {traffic.sidecar.istio.io/excludeInterfaces: net1}", "").labelled("istio-injection", "enabled"),
    None
)]
#[case::gloo_uses_another_interface(limited("", "GLOO_SOCKET_IFNAME"), Some(INTERFACE))]
#[case::mode_that_replaces_the_profile(limited("", "NCCL_SOCKET_IFNAME").labelled("trainmesh.dev/mesh-traffic", "direct"), None)]
#[case::ranges_excluded(
    limited(", traffic.sidecar.istio.io/excludeOutboundIPRanges: 10.0.0.0/8", "NCCL_SOCKET_IFNAME"),
    None
)]
#[case::opted_out(trainer("", ", sidecar.istio.io/inject: 'false'").labelled("istio-injection", "enabled"), None)]
#[case::not_intercepted(
    trainer(", annotations: {sidecar.istio.io/interceptionMode: NONE}", "").labelled("istio-injection", "enabled"),
    None
)]
#[case::ambient(
    trainer("", "").labelled("istio.io/dataplane-mode", "ambient"),
    Some("ztunnel redirects connections between ranks, and accepts them before the peer listens, as Envoy does")
)]
#[case::excluded_from_ambient(
    trainer("", ", istio.io/dataplane-mode: none").labelled("istio.io/dataplane-mode", "ambient"),
    None
)]
#[case::ambient_with_label(
    trainer("", ", trainmesh.dev/mesh-traffic: direct").labelled("istio.io/dataplane-mode", "ambient"),
    None
)]
#[case::not_training_in_ambient(train(RDMA).labelled("istio.io/dataplane-mode", "ambient"), None)]
#[case::mode_of_the_configuration(decided(Verdict::Applied, Reason::TrafficDirect), None)]
#[case::refused_mode(decided(Verdict::Refused, Reason::PodCidrsMissing), None)]
#[case::unknown_peers(decided(Verdict::Skipped, Reason::PeersUnknown), Some(UNKNOWN))]
#[case::unknown_peers_with_label(
    decided(Verdict::Skipped, Reason::PeersUnknown).labelled("trainmesh.dev/mesh-traffic", "direct"),
    Some(UNKNOWN)
)]
#[case::mode_in_audit(
    decided(Verdict::Applied, Reason::TrafficDirect).labelled("trainmesh.dev/inject", "audit"),
    Some(AUDIT)
)]
#[case::label_in_audit(
    decided(Verdict::Applied, Reason::CaptureDisabled)
        .labelled("trainmesh.dev/mesh-traffic", "disableCapture")
        .labelled("trainmesh.dev/inject", "audit"),
    Some(AUDIT)
)]
#[case::refused_in_audit(
    decided(Verdict::Refused, Reason::PodCidrsMissing).labelled("trainmesh.dev/inject", "audit"),
    None
)]
#[case::sidecar_in_ambient(
    injected().labelled("istio.io/dataplane-mode", "ambient"),
    Some(CAPTURED)
)]
#[case::default_mode(decided(Verdict::Skipped, Reason::TrafficLeft), Some(CAPTURED))]
#[case::not_training(train(RDMA).labelled("istio-injection", "enabled"), None)]
#[case::rank_outside_a_job(outside(RANK, ""), Some(UNKNOWN))]
#[case::rank_outside_a_job_with_the_mode(outside(RANK, "").labelled("trainmesh.dev/mesh-traffic", "direct"), Some(UNKNOWN))]
#[case::rank_outside_a_job_without_capture(outside(RANK, "trainmesh.dev/mesh-traffic: disableCapture"), None)]
#[case::rank_outside_a_job_without_mesh(train(RANK), None)]
#[case::server_with_the_mode_of_its_namespace(outside(RDMA, "").labelled("trainmesh.dev/mesh-traffic", "direct"), None)]
#[case::own_label(outside(RDMA, "trainmesh.dev/mesh-traffic: direct"), Some(NO_JOB))]
#[case::tpu(rank(TPU, "").labelled("istio-injection", "enabled"), Some(OTHER_LIBRARY))]
#[case::neuron(rank(&TPU.replace("google.com/tpu", "aws.amazon.com/neuron"), "").labelled("istio-injection", "enabled"), Some(OTHER_LIBRARY))]
#[case::tpu_and_gpu(
    rank(&TPU.replace("{name: log", "{name: gpu, resources: {limits: {nvidia.com/gpu: 1}}"), "").labelled("istio-injection", "enabled"),
    Some(CAPTURED)
)]
#[case::tpu_with_leave(rank(TPU, ", trainmesh.dev/mesh-traffic: leave").labelled("istio-injection", "enabled"), None)]
#[case::excluded_tpu(
    rank(TPU, "").labelled("istio-injection", "enabled").decided(RuleId::MeshTraffic, Verdict::Skipped, Reason::PodOptedOut, ""),
    None
)]
#[case::tpu_outside_a_job(not_training(TPU, "trainmesh.dev/mesh-traffic: direct").labelled("istio-injection", "enabled"), Some(NO_JOB))]
#[case::left_by_its_label(outside(RANK, "trainmesh.dev/mesh-traffic: leave"), Some(LEFT))]
#[case::other_own_label(outside(RDMA, "trainmesh.dev/mesh-traffic: leave"), None)]
#[case::own_label_in_ambient(
    not_training("containers: [{name: train}]", "trainmesh.dev/mesh-traffic: direct").labelled("istio.io/dataplane-mode", "ambient"),
    None
)]
#[case::own_label_of_a_gateway(
    not_training("containers: [{name: istio-proxy}]", "trainmesh.dev/mesh-traffic: direct").labelled("istio-injection", "enabled"),
    None
)]
#[case::group(group("2", "").labelled("istio-injection", "enabled"), Some(GROUP))]
#[case::group_of_one(group("1", "").labelled("istio-injection", "enabled"), None)]
#[case::group_that_direct_skips(
    group("2", "").labelled("istio-injection", "enabled").labelled("trainmesh.dev/mesh-traffic", "direct"),
    Some(GROUP)
)]
#[case::group_with_its_own_mode(
    group("2", ", trainmesh.dev/mesh-traffic: disableCapture")
        .labelled("istio-injection", "enabled")
        .labelled("trainmesh.dev/mesh-traffic", "direct"),
    None
)]
#[case::group_without_capture(
    group("2", "").labelled("istio-injection", "enabled").decided(RuleId::MeshTraffic, Verdict::Applied, Reason::CaptureDisabled, ""),
    None
)]
fn fp021_training_through_envoy(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP021", scenario, expected);
}

#[rstest]
#[case::default_policy(
    pod("{spec: {hostNetwork: true, containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"),
    Some("hostNetwork with dnsPolicy ClusterFirst: cluster names do not resolve")
)]
#[case::cluster_first_with_host_net(
    pod(
        "{spec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"
    ),
    None
)]
#[case::pod_network(
    pod("{spec: {dnsPolicy: Default, containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}]}}"),
    None
)]
#[case::istio_annotations(
    annotated(
        "sidecar.istio.io/nativeSidecar: 'true'",
        &format!("hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, containers: [{{name: train, {RDMA}}}]")
    ),
    Some("hostNetwork: Istio does not inject the pod, sidecar.istio.io/nativeSidecar has no effect")
)]
#[case::opting_out(
    annotated(
        "sidecar.istio.io/inject: 'false'",
        &format!("hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, containers: [{{name: train, {RDMA}}}]")
    ),
    None
)]
#[case::no_fabric(pod("{spec: {hostNetwork: true, containers: [{name: agent}]}}"), None)]
#[case::variable_of_an_installer(
    pod("{spec: {hostNetwork: true, containers: [{name: a, env: [{name: NCCL_INSTALL_DIR, value: /x}]}]}}"),
    None
)]
#[case::nccl_alone(
    pod("{spec: {hostNetwork: true, containers: [{name: train, env: [{name: NCCL_DEBUG, value: INFO}]}]}}"),
    Some("hostNetwork with dnsPolicy ClusterFirst: cluster names do not resolve")
)]
fn fp022_host_network(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP022", scenario, expected);
}

#[rstest]
#[case::host_network("hostNetwork: true, containers: [{name: a}]", "remove hostNetwork from the pod, ")]
#[case::host_path("volumes: [{name: d, hostPath: {path: /d}}]", "remove the hostPath volumes from the pod, ")]
#[case::privileged(
    "containers: [{name: a, securityContext: {privileged: true}}]",
    "remove privileged from the container, "
)]
#[case::ipc_lock(
    "containers: [{name: a, securityContext: {capabilities: {add: [IPC_LOCK]}}}]",
    "use a namespace with the level privileged, or, if the nodes do not limit locked memory, remove"
)]
fn fp027_has_a_fix_for_each_setting(#[case] spec: &str, #[case] expected: &str) {
    let findings = pod(&format!("{{spec: {{{spec}}}}}")).labelled(ENFORCE, "baseline").lint(&LintSettings::default());
    let fix =
        findings.iter().find(|finding| finding.code == "FP027").and_then(|finding| finding.fix).unwrap_or_default();
    assert!(fix.starts_with(expected), "{fix}");
}

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const LOCKING: &str = "transport: ib\nsecurityContext: {capabilities: {add: [IPC_LOCK]}}";

#[rstest]
#[case::profile(
    train(RDMA).profile(LOCKING).labelled(ENFORCE, "baseline"),
    Some("profile site needs IPC_LOCK, which Pod Security baseline forbids")
)]
#[case::pod(train(LOCK).labelled(ENFORCE, "restricted"), Some("the namespace's Pod Security level restricted forbids IPC_LOCK"))]
#[case::host_path(
    pod("{spec: {volumes: [{name: a, emptyDir: {}}, {name: d, hostPath: {path: /d}}]}}").labelled(ENFORCE, "baseline"),
    Some("the namespace's Pod Security level baseline forbids hostPath")
)]
#[case::privileged_level(train(LOCK).profile(LOCKING).labelled(ENFORCE, "privileged"), None)]
#[case::warn_label_only(train(LOCK).labelled("pod-security.kubernetes.io/warn", "baseline"), None)]
#[case::nothing_forbidden(train(RDMA).profile("transport: ib").labelled(ENFORCE, "baseline"), None)]
fn fp027_pod_security(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP027", scenario, expected);
}

#[rstest]
#[case::all_of_the_pod(
    "hostNetwork: true, volumes: [{name: s, hostPath: {path: /s}}], containers: [{name: train, \
     securityContext: {privileged: true, capabilities: {add: [IPC_LOCK]}}, resources: {limits: {nvidia.com/gpu: 8}}}]",
    "transport: ib",
    &[
        ("/spec/containers/0/securityContext", "the namespace's Pod Security level baseline forbids IPC_LOCK"),
        ("/spec/containers/0/securityContext", "the namespace's Pod Security level baseline forbids privileged"),
        ("/spec/hostNetwork", "the namespace's Pod Security level baseline forbids hostNetwork"),
        ("/spec/volumes/0", "the namespace's Pod Security level baseline forbids hostPath"),
    ]
)]
#[case::nothing_that_the_profile_adds(
    "containers: [{name: train, securityContext: {privileged: true}, resources: {limits: {nvidia.com/gpu: 8}}}]",
    LOCKING,
    &[("/spec/containers/0/securityContext", "the namespace's Pod Security level baseline forbids privileged")]
)]
#[case::an_addition_to_another_container(
    "containers: [{name: train, resources: {limits: {nvidia.com/gpu: 8}}}, {name: log, securityContext: {privileged: true}}]",
    LOCKING,
    &[
        ("/metadata/namespace", "profile site needs IPC_LOCK, which Pod Security baseline forbids"),
        ("/spec/containers/1/securityContext", "the namespace's Pod Security level baseline forbids privileged"),
    ]
)]
#[case::mounted_by_the_pod(
    "volumes: [{name: s, hostPath: {path: /s}}], containers: [{name: train, volumeMounts: [{name: s, mountPath: /d}]}]",
    "transport: ib\nvolumes: {hostPaths: [{hostPath: /d, mountPath: /d}]}",
    &[("/spec/volumes/0", "the namespace's Pod Security level baseline forbids hostPath")]
)]
fn fp027_names_every_setting_of_the_pod_and_additions_of_the_profile(
    #[case] spec: &str,
    #[case] profile: &str,
    #[case] expected: &[(&str, &str)],
) {
    let scenario = pod(&format!("{{spec: {{{spec}}}}}")).profile(profile).labelled(ENFORCE, "baseline");
    let findings = scenario.lint(&LintSettings::default());
    let found = findings.iter().filter(|finding| finding.code == "FP027");
    let mut found: Vec<(&str, &str)> = found.map(|finding| (&*finding.subject, &*finding.message)).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}

fn revision(revision: &str) -> Scenario {
    annotated(
        &format!("trainmesh.dev/fabric-revision: {revision:?}"),
        &format!("containers: [{{name: train, {RDMA}}}]"),
    )
}

#[rstest]
#[case::another_revision(revision("0123456789ab").pinned("ba9876543210"), Some("fabric revision 0123456789ab, but running pods of the job have ba9876543210"))]
#[case::same_revision(revision("0123456789ab").pinned("0123456789ab"), None)]
#[case::first_pod(revision("0123456789ab"), None)]
#[case::without_fabric(
    train(RDMA).profile("transport: ib").pinned("ba9876543210"),
    Some("no fabric, but running pods of the job have site at revision ba9876543210")
)]
#[case::launcher(train("image: i").profile("transport: ib").pinned("ba9876543210"), None)]
fn fp031_revision_differs_within_a_job(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP031", scenario, expected);
}

fn accelerators(resource: &str) -> Scenario {
    train(&format!("resources: {{limits: {{{resource}: 4}}}}"))
}

fn gpus(count: u64) -> Scenario {
    train(&format!("resources: {{limits: {{nvidia.com/gpu: {count}}}}}"))
}

/// Returns the worker of a training job with this number of GPUs.
fn worker(gpus: u64) -> Scenario {
    worker_on("{}", &format!("nvidia.com/gpu: {gpus}"))
}

/// Returns the worker of a training job with this node selector and these limits.
fn worker_on(node_selector: &str, limits: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '0'}}}}, spec: {{nodeSelector: {node_selector}, \
         containers: [{{name: train, resources: {{limits: {{{limits}}}}}}}]}}}}"
    ))
}

/// Returns one of two workers with a profile on machines of this type, with these fields of its container.
fn nvlink_worker(machine: &str, fields: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{labels: {{training.kubeflow.org/operator-name: pytorchjob-controller, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '0'}}}}, \
         spec: {{nodeSelector: {{node.kubernetes.io/instance-type: {machine}}}, \
         containers: [{{name: train, {fields} resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]}}}}"
    ))
    .profile("transport: ib")
    .replicas(2)
}

const NO_CLAIM: Option<&str> = Some("container train: no ComputeDomain claim: NCCL uses no NVLink between the nodes");

#[rstest]
#[case::instance_type(nvlink_worker("p6e-gb200.36xlarge", ""), NO_CLAIM)]
#[case::another_machine(nvlink_worker("p5.48xlarge", ""), None)]
#[case::one_pod(nvlink_worker("p6e-gb200.36xlarge", "").replicas(1), None)]
#[case::disabled(nvlink_worker("p6e-gb200.36xlarge", "env: [{name: NCCL_MNNVL_ENABLE, value: '0'}],"), None)]
#[case::privileged(nvlink_worker("p6e-gb200.36xlarge", "securityContext: {privileged: true},"), None)]
#[case::machines_of_the_profile(
    worker_on("{}", "nvidia.com/gpu: 4").profile("transport: gib\nmatch: {machines: [nvidia-gb200, a4x-highgpu-4g]}").replicas(2),
    NO_CLAIM
)]
#[case::no_machine(worker_on("{}", "nvidia.com/gpu: 4").profile("transport: ib").replicas(2), None)]
#[case::no_profile(worker_on("{node.kubernetes.io/instance-type: p6e-gb200.36xlarge}", "nvidia.com/gpu: 4").replicas(2), None)]
fn fp030_no_claim_on_several_nodes(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP030", scenario, expected);
}

const WHOLE_NODES: &str = "transport: ib\nresources: [{name: rdma/ib, mode: perPod, count: 1, fullNodeGpus: 8}]";

#[rstest]
#[case::part_of_a_node(gpus(4).profile("transport: gib\nmatch: {minGpus: 8}"), Some("container train: requests 4 of 8 GPUs, but site needs whole nodes"))]
#[case::whole_node(gpus(8).profile("transport: gib\nmatch: {minGpus: 8}"), None)]
#[case::from_node_capacity(
    gpus(4).profile("transport: tcpx").nodes(&[("a", &[("nvidia.com/gpu", 8)], None)]),
    Some("container train: requests 4 GPUs, fewer than a node has, but site needs whole nodes")
)]
#[case::unknown_nodes(gpus(4).profile("transport: tcpx"), None)]
#[case::accelerators_of_another_vendor(accelerators("google.com/tpu").profile("transport: gib\nmatch: {minGpus: 8}"), None)]
#[case::accelerators_of_the_profile(
    accelerators("amd.com/gpu").profile("transport: gib\nmatch: {gpuResources: [amd.com/*], minGpus: 8}"),
    Some("container train: requests 4 of 8 GPUs, but site needs whole nodes")
)]
#[case::another_transport(gpus(4).profile("transport: ib\nmatch: {minGpus: 8}"), None)]
#[case::adapters_of_whole_nodes(
    worker(4).profile(WHOLE_NODES).replicas(2),
    Some("container train: requests 4 of 8 GPUs, but site needs whole nodes")
)]
#[case::worker_on_whole_nodes(worker(8).profile(WHOLE_NODES).replicas(2), None)]
#[case::only_worker(worker(4).profile(WHOLE_NODES).replicas(1), None)]
#[case::no_training(gpus(4).profile(WHOLE_NODES).replicas(2), None)]
#[case::adapters_of_each_pod(worker(4).profile("transport: ib\nresources: [{name: rdma/ib}]").replicas(2), None)]
#[case::no_adapters(worker(4).profile("transport: tcp").replicas(2), None)]
#[case::adapters_of_the_pod(
    worker_on("{}", "nvidia.com/gpu: 4, rdma/ib: 1").profile(WHOLE_NODES).replicas(2),
    None
)]
#[case::another_machine(
    worker_on("{node.kubernetes.io/instance-type: l40}", "nvidia.com/gpu: 4")
        .profile(&format!("{WHOLE_NODES}\nmatch: {{machines: [h100]}}"))
        .replicas(2),
    None
)]
#[case::machine_of_the_profile(
    worker_on("{node.kubernetes.io/instance-type: h100}", "nvidia.com/gpu: 4")
        .profile(&format!("{WHOLE_NODES}\nmatch: {{machines: [h100]}}"))
        .replicas(2),
    Some("container train: requests 4 of 8 GPUs, but site needs whole nodes")
)]
fn fp032_partial_node(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP032", scenario, expected);
}

fn selecting(spec: &str) -> Scenario {
    pod(&format!("{{spec: {{{spec}, containers: [{{name: train, {RDMA}}}]}}}}"))
        .nodes(&[("a.48xlarge", &[("rdma/ib", 8)], None), ("b.48xlarge", &[("rdma/ib", 8)], None)])
}

#[rstest]
#[case::any_type(
    selecting("nodeSelector: {kubernetes.io/os: linux}"),
    Some("several instance types offer rdma/ib: a.48xlarge, b.48xlarge")
)]
#[case::selected(selecting("nodeSelector: {pool: training}"), None)]
#[case::by_affinity(
    selecting("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}"),
    None
)]
#[case::one_type_offers(train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], None), ("b", &[], None)]), None)]
#[case::unknown_nodes(train(RDMA), None)]
fn fp033_mixed_node_types(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP033", scenario, expected);
}

#[rstest]
#[case::no_node_has_gpudirect(
    train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], Some(false))]),
    Some("container train: no Mellanox or NVIDIA adapter detected on nodes with rdma/ib")
)]
#[case::one_node_has_gpudirect(train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], Some(false)), ("b", &[("rdma/ib", 8)], Some(true))]), None)]
#[case::not_detected(train(RDMA).nodes(&[("a", &[("rdma/ib", 8)], None)]), None)]
#[case::unknown_nodes(train(RDMA), None)]
#[case::of_another_vendor(
    train("resources: {limits: {nvidia.com/gpu: 8, rdma/roce: 1}}").nodes(&[("a", &[("rdma/roce", 8)], Some(false))]),
    None
)]
fn fp034_no_gpudirect(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP034", scenario, expected);
}
