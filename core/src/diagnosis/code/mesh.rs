//! Findings about Istio's proxy and other sidecars.

use super::{DiagnosisCode, Entry};
use crate::finding::Severity;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        code: DiagnosisCode::SidecarOutlivesMain,
        severity: Severity::Error,
        proof: "all main containers have terminated for good for one minute, phase Running, and another application container runs, with the reason if trainmesh cannot terminate it, and the main container that failed first; native sidecars do not count. An annotation `trainmesh.dev/payload-containers` that does not match the pod is ignored",
        fix: "install trainmesh's controller and label the namespace trainmesh.dev/inject=enabled; until then: trainmesh sweep --apply. If the pod is excluded, remove its label trainmesh.dev/inject; for a sidecar that is terminated by a port-forward, set termination.portForward: true",
        link: "docs/diagnose.md#sidecaroutlivesmain",
    },
    Entry {
        code: DiagnosisCode::ProxyEndedEarly,
        severity: Severity::Error,
        proof: "the classic proxy has terminated, its restart policy does not restart it, and a main container runs",
        fix: "recreate the pod; find out what stopped the proxy: kubectl logs -c istio-proxy",
        link: "docs/diagnose.md#proxyendedearly",
    },
    Entry {
        code: DiagnosisCode::ProxyNotReady,
        severity: Severity::Error,
        proof: "the proxy has run for 2 minutes with `ready: false`, while all main containers run, or none of them has started because the kubelet waits for the startup probe of a native sidecar or the hold of a classic proxy",
        fix: "check istiod, and the proxy: kubectl logs -c istio-proxy, istioctl proxy-status",
        link: "docs/diagnose.md#proxynotready",
    },
    Entry {
        code: DiagnosisCode::HoldNotRendered,
        severity: Severity::Warning,
        proof: "the annotation `proxy.istio.io/config` or the proxy's configuration requests the hold, the classic proxy is not the first container with `pilot-agent wait`, and a main container has terminated",
        fix: "check for another webhook that reorders containers, and for a global.proxy.lifecycle in Istio's values; or use native sidecars",
        link: "docs/diagnose.md#holdnotrendered",
    },
    Entry {
        code: DiagnosisCode::TrafficCaptured,
        severity: Severity::Warning,
        proof: "a rank with peers, by its own fields or the number of pods, has a proxy that the annotation `sidecar.istio.io/status` names, main containers that have not all terminated, and none of the annotations `traffic.sidecar.istio.io/…`, or only those that exclude link-local addresses and ports, but not the known port of the process group, with the reason if the annotation `trainmesh.dev/refused` has one for `mesh.traffic`; or the log of a rank names 127.0.0.6 (`::6` for IPv6) as the peer of a connection that was closed: from this address, Envoy connects to the containers of its own pod",
        fix: "label the namespace or the pod template trainmesh.dev/mesh-traffic=direct or disableCapture (a LeaderWorkerSet: disableCapture), and recreate the pods; if trainmesh refused to exclude the traffic, correct the reason first",
        link: "docs/diagnose.md#trafficcaptured",
    },
    Entry {
        code: DiagnosisCode::PlaintextRejected,
        severity: Severity::Error,
        proof: "as for TrafficCaptured, or with an empty `includeOutboundIPRanges` alone, so that only the inbound traffic is captured, while the PeerAuthentication of the namespace, or that of istio-system, has mode STRICT, and none of the namespace selects pods",
        fix: "label the namespace or the pod template trainmesh.dev/mesh-traffic=direct or disableCapture (a LeaderWorkerSet: disableCapture), and recreate the pods; PERMISSIVE mode is no fix: connections whose client does not send first hang in the proxy then (docs/mesh.md#what-the-tests-run)",
        link: "docs/diagnose.md#plaintextrejected",
    },
    Entry {
        code: DiagnosisCode::InjectionKeyOnWorkload,
        severity: Severity::Warning,
        proof: "the label or annotation `sidecar.istio.io/inject: \"false\"` of the workload, whose pods have a proxy",
        fix: "move the key into metadata.labels of the pod template, in kinds with several roles into that of each",
        link: "docs/diagnose.md#injectionkeyonworkload",
    },
];
