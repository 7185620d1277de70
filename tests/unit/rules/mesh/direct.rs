//! The mode `direct`: connections between the pods of a training job bypass Envoy.

use trainmesh_core::cidr::Cidr;

use super::*;

const RANGES: &str = "traffic.sidecar.istio.io/excludeOutboundIPRanges";
const EXCLUDED_PORTS: &str = "traffic.sidecar.istio.io/excludeInboundPorts";
const INTERFACES: &str = "traffic.sidecar.istio.io/excludeInterfaces";
const INTERCEPTION: &str = "sidecar.istio.io/interceptionMode";
const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
const MESH_PORTS: &str = "trainmesh.dev/mesh-ports";
const AMBIENT: &str = "istio.io/dataplane-mode";
const LEAVES: &str = "calls to pod addresses and headless Services leave the mesh";

fn direct() -> Scenario {
    with_ranges(&["10.244.0.0/16"], &[])
}

fn with_ranges(pods: &[&str], mesh: &[&str]) -> Scenario {
    let parse = |ranges: &[&str]| ranges.iter().map(|range| Cidr::parse(range).unwrap()).collect();
    Scenario::config(|config| {
        config.mesh.traffic = Traffic::Direct;
        config.mesh.hold = false;
        config.mesh.pod_cidrs = parse(pods);
        config.mesh.exclude_ip_ranges = parse(mesh);
    })
}

/// Returns a pod of an Indexed Job that declares the ports 8080 and 29500, its rendezvous.
fn rank(metadata: Value) -> Value {
    let ports = json!([{"containerPort": 8080}, {"containerPort": 29500}]);
    with_containers(metadata, json!([{"name": "train", "image": "i", "ports": ports, "env": torch()}]))
}

/// Returns a pod of an Indexed Job that declares no ports.
fn rank_without_ports(metadata: Value) -> Value {
    with_containers(metadata, json!([{"name": "train", "image": "i", "env": torch()}]))
}

fn torch() -> Value {
    json!([{"name": "PET_NNODES", "value": "2"}, {"name": "MASTER_PORT", "value": "29500"}])
}

fn with_containers(mut metadata: Value, containers: Value) -> Value {
    metadata["labels"]["batch.kubernetes.io/job-name"] = "a".into();
    metadata["labels"]["batch.kubernetes.io/job-completion-index"] = "0".into();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}})
}

fn annotated(key: &str, value: &str) -> Value {
    rank(json!({"annotations": {key: value}}))
}

/// Returns what the rule writes into [`rank`], with the inbound `ports`.
fn written(ports: &str) -> Value {
    json!({INBOUND: ports, RANGES: "10.244.0.0/16"})
}

fn check_direct(scenario: &Scenario, pod: &Value, expected: &str, written: Value, warnings: &[&str]) {
    check(scenario, pod, RuleId::MeshTraffic, expected, written, warnings);
}

#[rstest]
#[case::declared_port(rank(json!({})), written("8080"), &[LEAVES])]
#[case::no_port(rank_without_ports(json!({})), json!({INBOUND: "", RANGES: "10.244.0.0/16", TLS_MODE: "disabled"}), &[LEAVES])]
#[case::undeclared_ports(annotated(MESH_PORTS, "6006, 8080"), written("6006,8080"), &[LEAVES])]
#[case::no_undeclared_ports(annotated(MESH_PORTS, ""), written("8080"), &[LEAVES])]
#[case::excluded_by_the_user(annotated(EXCLUDED_PORTS, "22,8080"), json!({INBOUND: "", RANGES: "10.244.0.0/16", TLS_MODE: "disabled"}), &[LEAVES])]
#[case::listed_by_the_user(annotated(INBOUND, "9000"), json!({RANGES: "10.244.0.0/16"}), &[LEAVES])]
#[case::inbound_disabled_by_the_user(annotated(INBOUND, ""), json!({RANGES: "10.244.0.0/16", TLS_MODE: "disabled"}), &[LEAVES])]
#[case::outbound_disabled_by_the_user(annotated(OUTBOUND, ""), json!({INBOUND: "8080"}), &[LEAVES])]
#[case::outbound_narrowed_by_the_user(annotated(OUTBOUND, "10.96.0.0/12"), written("8080"), &[LEAVES])]
#[case::ranges_of_the_user(annotated(RANGES, "192.0.2.0/24"), json!({INBOUND: "8080", RANGES: "192.0.2.0/24,10.244.0.0/16"}), &[LEAVES])]
#[case::a_larger_range_of_the_user(annotated(RANGES, "10.0.0.0/8"), json!({INBOUND: "8080"}), &[LEAVES])]
#[case::ports_excluded_outbound(annotated("traffic.sidecar.istio.io/excludeOutboundPorts", "443"), written("8080"), &[LEAVES])]
#[case::tproxy(annotated(INTERCEPTION, "TPROXY"), written("8080"), &[LEAVES])]
#[case::mutual_of_the_user(rank(json!({"labels": {TLS_MODE: "istio"}})), written("8080"), &[LEAVES])]
#[case::mutual_without_ports(
    rank_without_ports(json!({"labels": {TLS_MODE: "istio"}})), written(""),
    &[LEAVES, "no inbound port is captured, but security.istio.io/tlsMode makes clients use mTLS"]
)]
#[case::networks(
    annotated(NETWORKS, "a, b/c@rdma0, istio-cni"),
    json!({INBOUND: "8080", RANGES: "10.244.0.0/16", INTERFACES: "net1,rdma0"}), &[LEAVES]
)]
#[case::networks_and_interfaces_of_the_user(
    rank(json!({"annotations": {NETWORKS: r#"[{"name": "a"}, {"name": "b", "interface": "rdma0"}]"#, INTERFACES: "rdma0"}})),
    json!({INBOUND: "8080", RANGES: "10.244.0.0/16", INTERFACES: "rdma0,net1"}), &[LEAVES]
)]
#[case::an_interface_that_linux_rejects(annotated(NETWORKS, "a@more-than-15-bytes,b@x+"), written("8080"), &[LEAVES])]
#[case::networks_that_cannot_be_parsed(annotated(NETWORKS, "[{"), written("8080"), &[LEAVES])]
fn both_directions_are_planned(#[case] pod: Value, #[case] written: Value, #[case] warnings: &[&str]) {
    check_direct(&direct(), &pod, "applied TrafficDirect", written, warnings);
}

#[test]
fn audit_mode_states_what_would_leave_the_mesh() {
    let scenario = Scenario { mode: Mode::Audit, ..direct() };
    let leaves = "audit: mesh.traffic: calls to pod addresses and headless Services would leave the mesh: no mTLS";
    let warnings = [leaves, "audit: mesh.traffic would apply"];
    check_direct(&scenario, &rank(json!({})), "applied TrafficDirect", json!({}), &warnings);
}

#[rstest]
#[case::no_job(pod(json!({})), "NotTraining")]
#[case::a_deployment(pod(json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a-1", "controller": true}]})), "NotTraining")]
#[case::one_pod(with_containers(json!({}), json!([{"name": "a", "env": [{"name": "PET_NNODES", "value": "1"}]}])), "PeersUnknown")]
#[case::leader_worker_set_of_one(leader_worker_set("1"), "NotTraining")]
// It calls only the head, whose port for the dashboard stays captured.
#[case::submitter_of_a_ray_job(
    pod(json!({"labels": {"ray.io/originated-from-cr-name": "a", "ray.io/originated-from-crd": "RayJob"}})),
    "PeersUnknown"
)]
// The second pod of a job shows that it is not alone, but the first does not: a half of the job would be direct.
#[case::only_the_index(with_containers(json!({}), json!([{"name": "a"}])), "PeersUnknown")]
#[case::no_interception(annotated(INTERCEPTION, "NONE"), "InterceptionOff")]
#[case::no_envoy(annotated("inject.istio.io/templates", "grpc-agent"), "InterceptionOff")]
#[case::gateway(gateway(json!({})), "GatewayPod")]
#[case::already_direct(rank(json!({"annotations": written("8080")})), "TrafficAlreadyDirect")]
#[case::opted_out_of_injection(rank(json!({"labels": {"sidecar.istio.io/inject": "false"}})), "InjectionOptedOut")]
fn skipped(#[case] pod: Value, #[case] reason: &str) {
    check_direct(&direct(), &pod, &format!("skipped {reason}"), json!({}), &[]);
}

fn leader_worker_set(size: &str) -> Value {
    pod(json!({"labels": {"leaderworkerset.sigs.k8s.io/name": "a", "leaderworkerset.sigs.k8s.io/worker-index": "0"},
        "annotations": {"leaderworkerset.sigs.k8s.io/size": size}}))
}

#[test]
fn a_group_that_serves_is_skipped_with_a_warning() {
    let warning = "label the group trainmesh.dev/mesh-traffic=disableCapture";
    check_direct(&direct(), &leader_worker_set("2"), "skipped NotTraining", json!({}), &[warning]);
}

#[rstest]
#[case::rank(json!({}), json!([{"name": "a", "command": ["torchrun", "--nnodes=2"]}]), "direct skips the pod: label it trainmesh.dev/mesh-traffic=disableCapture")]
#[case::own_label(json!({"labels": {"trainmesh.dev/mesh-traffic": "direct"}}), json!([{"name": "a"}]), "trainmesh.dev/mesh-traffic=direct has no effect")]
fn a_pod_of_no_training_job_is_skipped_with_a_warning(
    #[case] metadata: Value,
    #[case] containers: Value,
    #[case] warning: &str,
) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}});
    check_direct(&direct(), &pod, "skipped NotTraining", json!({}), &[warning]);
}

/// The pod shows that it has peers, but the first pod of its job does not, and all must have the same mode.
#[test]
fn a_pod_whose_job_is_unknown_is_skipped_with_a_warning() {
    let mut pod = with_containers(json!({}), json!([{"name": "a"}]));
    pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = "1".into();
    let warning = "direct skips the pod: label it trainmesh.dev/mesh-traffic=disableCapture";
    check_direct(&direct(), &pod, "skipped PeersUnknown", json!({}), &[warning]);
}

#[test]
fn a_manually_injected_pod_is_skipped() {
    let scenario = Scenario { labels: json!({}), ..direct() };
    let mut pod = rank(json!({"annotations": {"sidecar.istio.io/status": r#"{"containers":["istio-proxy"]}"#}}));
    pod["spec"]["containers"].as_array_mut().unwrap().push(waiting_proxy());
    let warning =
        "FP021: NCCL and Gloo hang behind Envoy: the mode has no effect, because the proxy is injected already";
    check_direct(&scenario, &pod, "skipped AlreadyInjected", json!({}), &[warning]);
}

#[rstest]
#[case::every_port(
    INBOUND,
    "*",
    "MemberPortCaptured",
    "includeInboundPorts captures every port: list ports, or remove it"
)]
#[case::listed_port_of_the_job(
    INBOUND,
    "8080,29500",
    "MemberPortCaptured",
    "includeInboundPorts captures port 29500 of the job: remove it"
)]
#[case::requested_port_of_the_job(
    MESH_PORTS,
    "29500",
    "MemberPortCaptured",
    "trainmesh.dev/mesh-ports captures port 29500 of the job"
)]
#[case::no_port(
    MESH_PORTS,
    "http",
    "MeshPortsInvalid",
    r#"trainmesh.dev/mesh-ports contains "http": expected ports from 1 to 65535"#
)]
#[case::port_zero(MESH_PORTS, "0", "MeshPortsInvalid", r#"contains "0""#)]
#[case::trailing_comma(MESH_PORTS, "8080,", "MeshPortsInvalid", r#"contains """#)]
#[case::every_mesh_port(MESH_PORTS, "*", "MeshPortsInvalid", r#"contains "*""#)]
#[case::blank_before_a_range(
    RANGES,
    "192.0.2.0/24, 198.51.100.0/24",
    "CaptureAnnotationInvalid",
    r#"excludeOutboundIPRanges contains " 198.51.100.0/24": expected a CIDR without blanks"#
)]
#[case::bare_address(
    RANGES,
    "192.0.2.1",
    "CaptureAnnotationInvalid",
    r#"excludeOutboundIPRanges contains "192.0.2.1": expected a CIDR"#
)]
#[case::every_range_excluded(
    RANGES,
    "*",
    "CaptureAnnotationInvalid",
    r#"excludeOutboundIPRanges contains "*": expected a CIDR"#
)]
#[case::bare_address_included(
    OUTBOUND,
    "10.96.0.1",
    "CaptureAnnotationInvalid",
    r#"includeOutboundIPRanges contains "10.96.0.1": expected a CIDR"#
)]
#[case::named_port(
    EXCLUDED_PORTS,
    "http",
    "CaptureAnnotationInvalid",
    r#"excludeInboundPorts contains "http": expected a port"#
)]
#[case::blank_ports(
    EXCLUDED_PORTS,
    " ",
    "CaptureAnnotationInvalid",
    r#"excludeInboundPorts contains " ": expected a port"#
)]
#[case::large_port(
    INBOUND,
    "65536",
    "CaptureAnnotationInvalid",
    r#"includeInboundPorts contains "65536": expected a port"#
)]
#[case::interception_mode(
    INTERCEPTION,
    "redirect",
    "CaptureAnnotationInvalid",
    r#"sidecar.istio.io/interceptionMode contains "redirect": expected REDIRECT, TPROXY or NONE"#
)]
#[case::signed_port(
    "traffic.sidecar.istio.io/excludeOutboundPorts",
    "+443",
    "CaptureAnnotationInvalid",
    r#"excludeOutboundPorts contains "+443": expected a port"#
)]
fn annotations_that_exclude_the_mode(
    #[case] key: &str,
    #[case] value: &str,
    #[case] reason: &str,
    #[case] warning: &str,
) {
    check_direct(&direct(), &annotated(key, value), &format!("refused {reason}"), json!({}), &[warning]);
}

/// The webhook withholds the patch that such warnings and messages describe.
#[test]
fn an_invalid_pod_gets_no_notes_of_applied_rules() {
    let mut pod = rank(json!({"labels": {"trainmesh.dev/fabric": "tcp"}}));
    let container = &mut pod["spec"]["containers"][0];
    container["resources"] = json!({"limits": {"nvidia.com/gpu": 8}});
    let valid = direct().run(&pod);
    assert!(valid.warnings.iter().any(|warning| warning.contains(LEAVES)), "{:?}", valid.warnings);
    assert!(valid.rules.iter().any(|rule| rule.message.contains("lets the controller")), "{:#?}", valid.rules);
    pod["spec"]["containers"][0]["env"].as_array_mut().unwrap().push(json!({"name": "A", "value": 5}));
    let outcome = direct().run(&pod);
    assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
    assert!(outcome.warnings[0].starts_with("patch withheld: "), "{:?}", outcome.warnings);
    assert!(!outcome.rules.iter().any(|rule| rule.message.contains("lets the controller")), "{:#?}", outcome.rules);
}

#[test]
fn without_ranges_the_mode_is_refused() {
    let warning = "mesh.traffic not applied: mesh.podCIDRs is not configured: set it in the configuration; trainmesh doctor may suggest it";
    check_direct(
        &with_ranges(&[], &["192.0.2.0/24"]),
        &rank(json!({})),
        "refused PodCidrsMissing",
        json!({}),
        &[warning],
    );
}

#[rstest]
#[case::a_rank(rank(json!({})), "refused TrafficAmbient", &["label it istio.io/dataplane-mode=none"])]
#[case::another_pod(pod(json!({})), "skipped NotTraining", &[])]
#[case::unknown_mode(rank(json!({"labels": {AMBIENT: "None"}})), "refused TrafficAmbient", &["label it istio.io/dataplane-mode=none", "did you mean none?"])]
#[case::excluded(rank(json!({"labels": {AMBIENT: "none"}})), "skipped InjectionNotRequested", &[])]
fn ambient_mode(#[case] pod: Value, #[case] expected: &str, #[case] warnings: &[&str]) {
    check_direct(&Scenario { labels: json!({AMBIENT: "ambient"}), ..direct() }, &pod, expected, json!({}), warnings);
}

/// Programs without a launcher name their rendezvous in variables of their own, or in their command.
#[rstest]
#[case::jax(json!({"env": [{"name": "COORDINATOR_ADDRESS", "value": "a-0.a:12355"}]}))]
#[case::tensorflow(json!({"env": [{"name": "TF_CONFIG", "value": r#"{"cluster": {"worker": ["a-0.a:12355", "a-1.a:12355"]}}"#}]}))]
#[case::nccl(json!({"env": [{"name": "NCCL_COMM_ID", "value": "a-0.a:12355"}]}))]
#[case::url(json!({"args": ["--init_method", "tcp://a-0.a:12355"]}))]
fn the_rendezvous_is_left_out(#[case] mut container: Value) {
    container["name"] = "train".into();
    container["ports"] = json!([{"containerPort": 8080}, {"containerPort": 12355}]);
    let nodes = json!([{"name": "PET_NNODES", "value": "2"}]);
    let env = [container["env"].take(), nodes].into_iter().filter_map(|list| list.as_array().cloned());
    container["env"] = env.flatten().collect();
    let pod = with_containers(json!({}), json!([container]));
    check_direct(&direct(), &pod, "applied TrafficDirect", written("8080"), &[LEAVES]);
    let mut listed = pod.clone();
    listed["metadata"]["annotations"] = json!({MESH_PORTS: "12355"});
    let warning = "trainmesh.dev/mesh-ports captures port 12355 of the job";
    check_direct(&direct(), &listed, "refused MemberPortCaptured", json!({}), &[warning]);
}

/// The annotation of a pod replaces the exclusions of the mesh.
#[rstest]
#[case::in_order(&["10.244.0.0/16", "fd00::/56"], &["169.254.169.254/32"], "10.244.0.0/16,fd00::/56,169.254.169.254/32")]
#[case::covered(&["10.0.0.0/8"], &["10.1.0.0/16", "192.0.2.0/24"], "10.0.0.0/8,192.0.2.0/24")]
fn ranges_of_the_mesh_are_repeated(#[case] pods: &[&str], #[case] mesh: &[&str], #[case] expected: &str) {
    let written = json!({INBOUND: "8080", RANGES: expected});
    check_direct(&with_ranges(pods, mesh), &rank(json!({})), "applied TrafficDirect", written, &[LEAVES]);
}

#[test]
fn only_tcp_ports_of_running_containers_are_captured() {
    let containers = json!([
        {"name": "train", "env": torch(), "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 8080, "protocol": "TCP"}]},
        {"name": "istio-proxy", "image": "auto", "ports": [{"containerPort": 15090}]},
    ]);
    let mut pod = with_containers(json!({}), containers);
    pod["spec"]["initContainers"] = json!([
        {"name": "fetch", "ports": [{"containerPort": 1}]},
        {"name": "cache", "restartPolicy": "Always", "ports": [{"containerPort": 7000}]},
    ]);
    check_direct(&direct(), &pod, "applied TrafficDirect", written("7000,8080"), &[LEAVES]);
}

#[test]
fn ports_are_limited() {
    let declared = |count: u16| {
        let ports: Vec<Value> = (1..=count).map(|port| json!({"containerPort": port})).collect();
        with_containers(json!({}), json!([{"name": "train", "env": torch(), "ports": ports}]))
    };
    let ports: Vec<String> = (1..=128).map(|port: u16| port.to_string()).collect();
    check_direct(&direct(), &declared(128), "applied TrafficDirect", written(&ports.join(",")), &[LEAVES]);
    let warning = "the pod declares 129 ports, at most 128 can be listed";
    check_direct(&direct(), &declared(129), "refused TooManyPorts", json!({}), &[warning]);
}

/// mpirun connects from the launcher to sshd of the workers, so that both need the mode.
#[rstest]
#[case::launcher("launcher")]
#[case::worker("worker")]
fn a_launcher_is_part_of_the_job(#[case] role: &str) {
    let labels = json!({
        "training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "a",
        "training.kubeflow.org/job-role": role,
    });
    let env = json!([{"name": "K_MPI_JOB_ROLE", "value": role}]);
    let mut pod = pod(json!({"labels": labels}));
    pod["spec"]["containers"] = json!([{"name": "mpi", "image": "i", "env": env, "ports": [{"containerPort": 22}]}]);
    let written = json!({INBOUND: "", RANGES: "10.244.0.0/16", TLS_MODE: "disabled"});
    check_direct(&direct(), &pod, "applied TrafficDirect", written, &[LEAVES]);
}

#[rstest]
#[case::a_port(rank(json!({})), "captured inbound: 8080; left out, as ports of the job: 29500")]
#[case::no_port(rank_without_ports(json!({})), "no inbound port is captured")]
#[case::no_other_port(
    annotated(EXCLUDED_PORTS, "8080"),
    "no inbound port is captured; left out, as ports of the job: 29500"
)]
#[case::many_ports(
    annotated(MESH_PORTS, "1,2,3,4,5,6,7,8,9"),
    "captured inbound: 1, 2, 3, 4, 5, 6, 7, 8 and 2 more; left out, as ports of the job: 29500"
)]
#[case::listed_by_the_user(annotated(INBOUND, "9000"), "captured inbound: 9000")]
fn the_message_names_the_ports(#[case] pod: Value, #[case] expected: &str) {
    let outcome = direct().run(&pod);
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::MeshTraffic).unwrap();
    assert_eq!(rule.message, format!("connections between the pods of the job bypass istio-proxy: {expected}"));
}

/// A template that was copied from an injected pod is planned like any other, and the second call changes nothing.
#[test]
fn an_injected_pod_is_planned_again() {
    let mut pod = rank(json!({"annotations": {"sidecar.istio.io/status": r#"{"containers":["istio-proxy"]}"#}}));
    let mut proxy = waiting_proxy();
    proxy["ports"] = json!([{"containerPort": 15090}]);
    pod["spec"]["containers"].as_array_mut().unwrap().push(proxy);
    check_direct(&direct(), &pod, "applied TrafficDirect", written("8080"), &[LEAVES]);
}

#[rstest]
#[case::namespace(json!({"istio-injection": "enabled", "trainmesh.dev/mesh-traffic": "direct"}), json!({}))]
#[case::pod(json!({"istio-injection": "enabled", "trainmesh.dev/mesh-traffic": "leave"}), json!({"labels": {"trainmesh.dev/mesh-traffic": "direct"}}))]
fn labels_select_the_mode(#[case] labels: Value, #[case] metadata: Value) {
    let mut scenario = Scenario { labels, ..direct() };
    scenario.config.mesh.traffic = Traffic::Leave;
    check_direct(&scenario, &rank(metadata), "applied TrafficDirect", written("8080"), &[LEAVES]);
}
