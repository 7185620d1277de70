//! Keys of the labels and annotations that trainmesh reads or writes.

/// Prefix of the labels and annotations of trainmesh.
pub const OWN_PREFIX: &str = "trainmesh.dev/";
/// Namespace label that opts in (`enabled`, `audit`), and pod label that opts out (`disabled`).
pub const INJECT: &str = "trainmesh.dev/inject";
/// Namespace label of datastrophic/istio-aux, for which trainmesh is a drop-in replacement.
pub const ISTIO_AUX: &str = "io.datastrophic/istio-aux";
/// Namespace or pod label that selects how much traffic of the main containers bypasses Envoy.
pub const MESH_TRAFFIC: &str = "trainmesh.dev/mesh-traffic";
/// Pod annotation that lists inbound ports that Envoy captures in the mode `direct`, although the pod does not declare
/// them.
pub const MESH_PORTS: &str = "trainmesh.dev/mesh-ports";
/// Pod annotation that lists the main containers: those that must complete before the proxy is terminated.
pub const PAYLOAD_CONTAINERS: &str = "trainmesh.dev/payload-containers";
/// Pod annotation that lists the sidecar containers, each with an optional entry of the termination catalog.
pub const HELPER_CONTAINERS: &str = "trainmesh.dev/helper-containers";
/// Pod annotation that overrides the stabilization window between completion and termination of the proxy.
pub const SETTLE: &str = "trainmesh.dev/settle";
/// Pod annotation with the time to write a checkpoint.
pub const CHECKPOINT_WRITE_TIME: &str = "trainmesh.dev/checkpoint-write-time";
/// Pod annotation with the mean time between failures of a node.
pub const NODE_MTBF: &str = "trainmesh.dev/node-mtbf";
/// Namespace or pod label that selects a fabric profile, or [`NO_FABRIC`].
pub const FABRIC: &str = "trainmesh.dev/fabric";
/// Value of [`FABRIC`] that selects no profile.
pub const NO_FABRIC: &str = "none";
/// Namespace or pod label that selects how the pods of a job are scheduled together.
pub const GANG: &str = "trainmesh.dev/gang";
/// Pod annotation, written by trainmesh, with the revision of the applied profile.
pub const FABRIC_REVISION: &str = "trainmesh.dev/fabric-revision";
/// Pod annotation, written by trainmesh, with the NCCL configuration file. The kubelet mounts it by the downward API.
pub const NCCL_CONF: &str = "trainmesh.dev/nccl-conf";
/// Pod label, written by trainmesh, that selects the pods with sidecars or a fabric for the controller's watch.
pub const MANAGED: &str = "trainmesh.dev/managed";
/// Pod annotation, written by trainmesh, that lists the rules that changed the pod.
pub const APPLIED: &str = "trainmesh.dev/applied";
/// Pod annotation, written by trainmesh, that lists the rules that were refused, each with the code of its reason.
pub const REFUSED: &str = "trainmesh.dev/refused";

/// Label of all pods of Ray with the name of their cluster.
pub const RAY_CLUSTER: &str = "ray.io/cluster";
/// Label of a workload or pod with the name of its `LocalQueue` of Kueue.
pub const KUEUE_QUEUE: &str = "kueue.x-k8s.io/queue-name";
/// Name of the `LocalQueue` for jobs without the label: Kueue adds the label to them if its namespace has this queue
/// (kubernetes-sigs/kueue 0.19, `pkg/controller/jobframework/defaults.go`; by default since 0.12).
pub const DEFAULT_QUEUE: &str = "default";
/// Pod annotation with YAML that the injector merges into the proxy's configuration.
pub const PROXY_CONFIG: &str = "proxy.istio.io/config";
/// Pod annotation in which the injector lists what it added.
pub const SIDECAR_STATUS: &str = "sidecar.istio.io/status";
/// Pod label (and deprecated annotation) that turns injection on or off for one pod.
pub const SIDECAR_INJECT: &str = "sidecar.istio.io/inject";
/// Pod annotation that chooses a native or a classic sidecar (Istio 1.24 and newer).
pub const NATIVE_SIDECAR: &str = "sidecar.istio.io/nativeSidecar";
/// Namespace label that turns injection on or off; takes precedence over [`ISTIO_REVISION`].
pub const ISTIO_INJECTION: &str = "istio-injection";
/// Namespace or pod label that names the Istio revision that injects.
pub const ISTIO_REVISION: &str = "istio.io/rev";
/// Namespace or pod label that puts a pod into the ambient mesh.
pub const DATAPLANE_MODE: &str = "istio.io/dataplane-mode";
/// Pod annotation that names the injection templates, `grpc-agent` among them.
pub const INJECT_TEMPLATES: &str = "inject.istio.io/templates";
/// Pod annotation that the ambient mesh sets when it redirects the pod's traffic.
pub const AMBIENT_REDIRECTION: &str = "ambient.istio.io/redirection";
/// Label of the pods of Kubeflow's notebooks.
pub const NOTEBOOK: &str = "notebook-name";
/// Pod annotation that moves pilot-agent's status port.
pub const STATUS_PORT: &str = "status.sidecar.istio.io/port";
/// Value with which an annotation selects everything for capture.
pub const CAPTURE_ALL: &str = "*";
/// Prefix of the annotations that configure which traffic Envoy captures.
pub const TRAFFIC_PREFIX: &str = "traffic.sidecar.istio.io/";

/// Pod annotation that lists the inbound ports that Envoy captures: `*` for all, empty for none.
pub const INCLUDE_INBOUND_PORTS: &str = "traffic.sidecar.istio.io/includeInboundPorts";
/// Pod annotations that affect which inbound traffic Envoy captures. Each of them excludes the pod from the mode `disableCapture` for
/// this direction.
pub const INBOUND_CAPTURE: [&str; 3] = [INCLUDE_INBOUND_PORTS, EXCLUDE_INBOUND_PORTS, EXCLUDE_INTERFACES];
/// Pod annotation that lists inbound ports that Envoy does not capture. Istio ignores it if [`INCLUDE_INBOUND_PORTS`]
/// lists ports.
pub const EXCLUDE_INBOUND_PORTS: &str = "traffic.sidecar.istio.io/excludeInboundPorts";
/// Pod annotation that lists the IP ranges to which Envoy captures connections: `*` for all, empty for none.
pub const INCLUDE_OUTBOUND_RANGES: &str = "traffic.sidecar.istio.io/includeOutboundIPRanges";
/// Pod annotation that lists IP ranges to which Envoy captures no connections. Takes precedence over
/// [`INCLUDE_OUTBOUND_RANGES`].
pub const EXCLUDE_OUTBOUND_RANGES: &str = "traffic.sidecar.istio.io/excludeOutboundIPRanges";
/// Pod annotation that lists ports to which Envoy captures no connections.
pub const EXCLUDE_OUTBOUND_PORTS: &str = "traffic.sidecar.istio.io/excludeOutboundPorts";
/// Pod annotation that selects how traffic is captured: `REDIRECT`, `TPROXY` or `NONE`.
pub const INTERCEPTION_MODE: &str = "sidecar.istio.io/interceptionMode";
/// Pod label by which clients with a sidecar choose mTLS (`istio`) or plain text (any other value) for the pod.
pub const TLS_MODE: &str = "security.istio.io/tlsMode";
/// Pod annotation that excludes network interfaces from traffic capture.
pub const EXCLUDE_INTERFACES: &str = "traffic.sidecar.istio.io/excludeInterfaces";

/// Pod annotation of GKE that names the interface of the default route.
pub const GKE_DEFAULT_INTERFACE: &str = "networking.gke.io/default-interface";
/// Pod annotation of GKE that lists the pod's interfaces as JSON.
pub const GKE_INTERFACES: &str = "networking.gke.io/interfaces";
/// Namespace label with the Pod Security level that is enforced.
pub const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";
/// Node label with the instance type.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Node labels that identify a machine, in order of precedence: the instance type, its former name, and the labels that
/// the manifests of GKE and `CoreWeave` select instead.
pub const MACHINES: [&str; 4] = [
    INSTANCE_TYPE,
    "beta.kubernetes.io/instance-type",
    "cloud.google.com/gke-accelerator",
    "node.coreweave.cloud/type",
];

/// Labels of Karpenter's nodes with the two parts of an EC2 instance type, which also have [`INSTANCE_TYPE`]
/// (aws/karpenter-provider-aws, `pkg/apis/v1/labels.go` at 1d927085dd81, 2026-08-21).
pub const KARPENTER_MACHINE: [&str; 2] = ["karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-size"];

/// Annotation of a mirror pod: the apiserver's copy of a static pod, whose source is a file on the node.
pub const MIRROR_POD: &str = "kubernetes.io/config.mirror";
/// Annotations of `YuniKorn` placeholder pods in current and in older releases.
pub const YUNIKORN_PLACEHOLDERS: [&str; 2] =
    ["yunikorn.apache.org/placeholder", "internal.yunikorn.apache.org/placeholder"];
