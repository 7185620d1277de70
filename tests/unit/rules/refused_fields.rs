//! Fields of refusals: the label, annotation or container of the pod that is the cause.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::cidr::Cidr;
use trainmesh_core::config::Traffic;
use trainmesh_core::mutate::Verdict;

use super::{Scenario, injected, pod};

const PORTS: &str = "trainmesh.dev/mesh-ports";
const INBOUND: &str = "traffic.sidecar.istio.io/includeInboundPorts";
const RANGES: &str = "traffic.sidecar.istio.io/excludeOutboundIPRanges";
const WRITE_TIME: &str = "trainmesh.dev/checkpoint-write-time";
const MTBF: &str = "trainmesh.dev/node-mtbf";
const AMBIENT: &str = "istio.io/dataplane-mode";
const PROXY_CONFIG: &str = "proxy.istio.io/config";

fn direct() -> Scenario {
    Scenario::config(|config| {
        config.mesh.traffic = Traffic::Direct;
        config.mesh.pod_cidrs = vec![Cidr::parse("10.244.0.0/16").unwrap()];
    })
}

/// Returns a rank of a job whose container listens on port 29500, with this label or annotation.
fn rank(map: &str, key: &str, value: &str) -> Value {
    let mut metadata =
        json!({"labels": {"batch.kubernetes.io/job-name": "a", "batch.kubernetes.io/job-completion-index": "0"}});
    metadata[map][key] = value.into();
    let env = json!([{"name": "PET_NNODES", "value": "2"}, {"name": "MASTER_PORT", "value": "29500"}]);
    let limits = json!({"limits": {"nvidia.com/gpu": 8}});
    json!({"metadata": metadata, "spec": {"containers": [{"name": "train", "image": "i", "env": env, "resources": limits}]}})
}

fn labeled(key: &str, value: &str) -> Value {
    rank("labels", key, value)
}

fn annotated(key: &str, value: &str) -> Value {
    rank("annotations", key, value)
}

fn checkpoint(annotations: &Value, container: &Value) -> Value {
    let mut pod = pod(json!({"annotations": annotations}));
    pod["spec"]["containers"][0].as_object_mut().unwrap().extend(container.as_object().unwrap().clone());
    pod
}

#[rstest]
#[case::traffic_mode(
    direct(),
    labeled("trainmesh.dev/mesh-traffic", "off"),
    "UnknownTrafficMode",
    "/metadata/labels/trainmesh.dev~1mesh-traffic"
)]
#[case::mesh_ports(
    direct(),
    annotated(PORTS, "6006;8080"),
    "MeshPortsInvalid",
    "/metadata/annotations/trainmesh.dev~1mesh-ports"
)]
#[case::mesh_port_of_the_job(
    direct(),
    annotated(PORTS, "29500"),
    "MemberPortCaptured",
    "/metadata/annotations/trainmesh.dev~1mesh-ports"
)]
#[case::inbound_port_of_the_job(
    direct(),
    annotated(INBOUND, "29500"),
    "MemberPortCaptured",
    "/metadata/annotations/traffic.sidecar.istio.io~1includeInboundPorts"
)]
#[case::every_inbound_port(
    direct(),
    annotated(INBOUND, "*"),
    "MemberPortCaptured",
    "/metadata/annotations/traffic.sidecar.istio.io~1includeInboundPorts"
)]
#[case::ranges(
    direct(),
    annotated(RANGES, "10.0.0.0"),
    "CaptureAnnotationInvalid",
    "/metadata/annotations/traffic.sidecar.istio.io~1excludeOutboundIPRanges"
)]
#[case::interception_mode(
    direct(),
    annotated("sidecar.istio.io/interceptionMode", "redirect"),
    "CaptureAnnotationInvalid",
    "/metadata/annotations/sidecar.istio.io~1interceptionMode"
)]
#[case::ambient(
    Scenario { labels: json!({AMBIENT: "ambient"}), ..direct() }, labeled(AMBIENT, "ambient"), "TrafficAmbient",
    "/metadata/labels/istio.io~1dataplane-mode"
)]
#[case::ambient_namespace(Scenario { labels: json!({AMBIENT: "ambient"}), ..direct() }, labeled("a", "b"), "TrafficAmbient", "/spec")]
#[case::configuration(Scenario::config(|config| config.mesh.traffic = Traffic::Direct), labeled("a", "b"), "PodCidrsMissing", "/spec")]
#[case::proxy_config(
    Scenario::default(),
    annotated(PROXY_CONFIG, "{"),
    "ProxyConfigRefused",
    "/metadata/annotations/proxy.istio.io~1config"
)]
#[case::declined_hold(
    Scenario::labels(json!({})),
    injected(json!({"annotations": {PROXY_CONFIG: "holdApplicationUntilProxyStarts: false"}}), json!({"name": "istio-proxy"})),
    "HoldNotRendered", "/metadata/annotations/proxy.istio.io~1config"
)]
#[case::hold_of_the_template(
    Scenario::labels(json!({})), injected(json!({}), json!({"name": "istio-proxy"})), "HoldNotRendered", "/spec/containers/0"
)]
#[case::gang_mode(
    Scenario::default(),
    labeled("trainmesh.dev/gang", "vulcano"),
    "UnknownGangMode",
    "/metadata/labels/trainmesh.dev~1gang"
)]
#[case::profile(
    Scenario::default(),
    labeled("trainmesh.dev/fabric", "eks-efaa"),
    "UnknownFabric",
    "/metadata/labels/trainmesh.dev~1fabric"
)]
#[case::profile_of_the_namespace(
    Scenario::labels(json!({"trainmesh.dev/fabric": "hgx-rails"})), labeled("a", "b"), "UnknownFabric", "/metadata/namespace"
)]
#[case::missing_checkpoint_input(
    Scenario::default(), checkpoint(&json!({MTBF: "264d"}), &json!({})), "CheckpointInputMissing",
    "/metadata/annotations/trainmesh.dev~1node-mtbf"
)]
#[case::checkpoint_input(
    Scenario::default(), checkpoint(&json!({WRITE_TIME: "5m", MTBF: "x"}), &json!({})), "CheckpointInputInvalid",
    "/metadata/annotations/trainmesh.dev~1node-mtbf"
)]
#[case::slow_checkpoint(
    Scenario::default(), checkpoint(&json!({WRITE_TIME: "10h", MTBF: "1h"}), &json!({})), "CheckpointTooSlow",
    "/metadata/annotations/trainmesh.dev~1checkpoint-write-time"
)]
#[case::checkpoint_variable(
    Scenario::default(),
    checkpoint(&json!({WRITE_TIME: "5m", MTBF: "264d"}), &json!({"envFrom": [{"configMapRef": {"name": "a"}}]})),
    "CheckpointVariableUnknown", "/spec/containers/0/envFrom"
)]
#[case::large_annotations(Scenario::default(), pod(json!({"annotations": {"a": "x".repeat(250_000)}})), "AnnotationsTooLarge", "/metadata/annotations")]
#[case::missing_failure_rate(
    Scenario::default(),
    rank("annotations", WRITE_TIME, "5m"),
    "CheckpointInputMissing",
    "/metadata/annotations/trainmesh.dev~1checkpoint-write-time"
)]
#[case::sidecar(
    Scenario::default(),
    json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "train", "image": "i"}, {"name": "vault-agent", "image": "i"}]}}),
    "SidecarNotTerminated", "/spec/containers/1"
)]
fn refusals_name_the_field_that_causes_them(
    #[case] scenario: Scenario,
    #[case] pod: Value,
    #[case] reason: &str,
    #[case] field: &str,
) {
    let rules = scenario.run(&pod).rules;
    let refused = rules.iter().find(|rule| rule.outcome == Verdict::Refused && rule.reason.code() == reason);
    assert_eq!(refused.and_then(|rule| rule.field.as_deref()), Some(field), "{rules:#?}");
}
