//! Names of the labels and annotations that trainmesh reads or writes, ours and those of others.

/// Namespace label that opts in (`enabled`, `audit`), and pod label that opts out (`disabled`).
pub const INJECT: &str = "trainmesh.dev/inject";
/// Namespace label of datastrophic/istio-aux, whose users we serve unchanged.
pub const ISTIO_AUX: &str = "io.datastrophic/istio-aux";
/// Namespace or pod label that keeps the payload's traffic out of Envoy.
pub const MESH_TRAFFIC: &str = "trainmesh.dev/mesh-traffic";
/// Pod annotation: the containers that must have ended before the proxy is ended.
pub const PAYLOAD_CONTAINERS: &str = "trainmesh.dev/payload-containers";
/// Pod annotation: containers that serve the payload, and perhaps the entry of the catalogue that ends each.
pub const HELPER_CONTAINERS: &str = "trainmesh.dev/helper-containers";
/// Pod annotation: how long after the payload's end the proxy is ended.
pub const SETTLE: &str = "trainmesh.dev/settle";
/// Namespace or pod label that names a fabric profile, or [`NO_FABRIC`].
pub const FABRIC: &str = "trainmesh.dev/fabric";
/// The value of [`FABRIC`] that asks for no profile.
pub const NO_FABRIC: &str = "none";
/// Pod annotation that we write: the revision of the profile that the pod was given.
pub const FABRIC_REVISION: &str = "trainmesh.dev/fabric-revision";
/// Pod annotation that we write: the file that NCCL reads, which the kubelet mounts from it.
pub const NCCL_CONF: &str = "trainmesh.dev/nccl-conf";
/// Pod label that we write: the controller is to watch the pod, for helpers to end and for its fabric.
pub const MANAGED: &str = "trainmesh.dev/managed";
/// Pod annotation that we write: the rules that changed the pod.
pub const APPLIED: &str = "trainmesh.dev/applied";

/// Pod annotation with a YAML text that the injector merges into the proxy's configuration.
pub const PROXY_CONFIG: &str = "proxy.istio.io/config";
/// Pod annotation in which the injector lists what it added.
pub const SIDECAR_STATUS: &str = "sidecar.istio.io/status";
/// Pod label (and deprecated annotation) that turns injection on or off for one pod.
pub const SIDECAR_INJECT: &str = "sidecar.istio.io/inject";
/// Pod annotation that chooses a native or a classic sidecar (Istio 1.24 and newer).
pub const NATIVE_SIDECAR: &str = "sidecar.istio.io/nativeSidecar";
/// Namespace label that turns injection on or off; beats [`ISTIO_REVISION`].
pub const ISTIO_INJECTION: &str = "istio-injection";
/// Namespace or pod label that names the revision of Istio which injects.
pub const ISTIO_REVISION: &str = "istio.io/rev";
/// Namespace or pod label that puts a pod into the ambient mesh.
pub const DATAPLANE_MODE: &str = "istio.io/dataplane-mode";
/// Pod annotation that names the injection templates, `grpc-agent` among them.
pub const INJECT_TEMPLATES: &str = "inject.istio.io/templates";
/// Pod annotation by which the ambient mesh says that it has taken the pod in.
pub const AMBIENT_REDIRECTION: &str = "ambient.istio.io/redirection";
/// Pod annotation that moves pilot-agent's status port.
pub const STATUS_PORT: &str = "status.sidecar.istio.io/port";
/// Prefix of the annotations that steer which traffic Envoy captures.
pub const TRAFFIC_PREFIX: &str = "traffic.sidecar.istio.io/";

/// Pod annotation that keeps the traffic of network interfaces out of Envoy.
pub const EXCLUDE_INTERFACES: &str = "traffic.sidecar.istio.io/excludeInterfaces";

/// Pod annotation of GKE that names the interface of the default route.
pub const GKE_DEFAULT_INTERFACE: &str = "networking.gke.io/default-interface";
/// Pod annotation of GKE that lists the pod's interfaces as JSON.
pub const GKE_INTERFACES: &str = "networking.gke.io/interfaces";
/// Namespace label with the level of Pod Security that is enforced.
pub const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";
/// Node label with the type of the machine.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// Annotation of a static pod's image at the apiserver; its source is a file on the node.
pub const MIRROR_POD: &str = "kubernetes.io/config.mirror";
/// Annotations of `YuniKorn`'s placeholder pods, today's and that of older releases.
pub const YUNIKORN_PLACEHOLDERS: [&str; 2] =
    ["yunikorn.apache.org/placeholder", "internal.yunikorn.apache.org/placeholder"];
