//! Texts of FP021.

/// Message and fix of a finding.
pub(super) struct Advice {
    pub(super) message: &'static str,
    /// `None`: as for the check.
    pub(super) fix: Option<&'static str>,
}

/// For a pod that a mode would change.
pub(super) const SELECT_MODE: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=direct or \
         disableCapture",
    fix: None,
};
/// For a pod of which other interfaces are excluded from capture.
pub(super) const INTERFACE_CAPTURED: Advice = Advice {
    message: "NCCL or Gloo hangs behind Envoy: a *_SOCKET_IFNAME allows eth0, which excludeInterfaces does not list",
    fix: Some(
        "label the namespace trainmesh.dev/mesh-traffic: direct or disableCapture, which takes precedence over the fabric \
         profile, or set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to interfaces that are excluded",
    ),
};
/// For a pod that the rules do not change.
pub(super) const NOT_OPTED_IN: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy, and the pod is not opted in: label it \
         sidecar.istio.io/inject=false",
    fix: Some(
        "label the namespace trainmesh.dev/inject: enabled, label the pod sidecar.istio.io/inject: \"false\", or \
         set its annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \"\"",
    ),
};
/// For a pod whose label excludes it.
pub(super) const OPTED_OUT: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy, and trainmesh.dev/inject=disabled excludes the pod: remove the \
         label",
    fix: Some(
        "remove the label trainmesh.dev/inject from the pod, label it sidecar.istio.io/inject: \"false\", or set \
         its annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \"\"",
    ),
};
/// For a pod of a namespace that is always excluded.
pub(super) const EXCLUDED_NAMESPACE: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy, and the namespace is excluded: label the pod sidecar.istio.io/inject=false",
    fix: Some(
        "label the pod sidecar.istio.io/inject: \"false\", set its annotations \
         traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \"\", or run it in another \
         namespace",
    ),
};
/// For a group that counts as serving, which the mode `direct` does not change.
pub(super) const SERVING: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy: label the group trainmesh.dev/mesh-traffic=disableCapture",
    fix: Some(
        "label the pods trainmesh.dev/mesh-traffic: disableCapture; the mode direct skips a LeaderWorkerSet, which \
         counts as serving",
    ),
};
/// For a pod that the mode `direct` skips, because it belongs to no training job, or neither its fields nor the object of
/// its job show its peers.
pub(super) const PEERS_UNKNOWN: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy, and direct skips the pod: label it trainmesh.dev/mesh-traffic=disableCapture",
    fix: Some(
        "label the pods trainmesh.dev/mesh-traffic: disableCapture; if gang.enabled of the configuration is false, \
         set it to true, so that the webhook reads the number of pods from the object of the job",
    ),
};
/// For a pod of a kind whose objects the webhook does not read.
pub(super) const KIND_NOT_READ: Advice = Advice {
    message: PEERS_UNKNOWN.message,
    fix: Some(
        "label the pods trainmesh.dev/mesh-traffic: disableCapture: they do not show that they are several, and the \
         webhook does not read objects of their kind",
    ),
};
/// For a pod with the label `direct` that belongs to no training job.
pub(super) const LABEL_WITHOUT_EFFECT: Advice = Advice {
    message: "label trainmesh.dev/mesh-traffic=direct has no effect: the pod belongs to no training job",
    fix: Some(
        "label the pods trainmesh.dev/mesh-traffic: disableCapture, or run them as a training job: an Indexed Job, \
         a JobSet, or a kind of a training operator",
    ),
};
/// For a pod that the rule would change, but for audit mode.
pub(super) const AUDITED: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy until audit mode ends: label the namespace trainmesh.dev/inject=enabled",
    fix: Some(
        "label the namespace trainmesh.dev/inject: enabled, label the pods sidecar.istio.io/inject: \"false\", or \
         set their annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \"\"",
    ),
};
/// For a pod of a namespace with the label of istio-aux alone, in which the rule runs for no pod.
pub(super) const ISTIO_AUX: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/inject=enabled, and select a \
              mesh-traffic mode",
    fix: Some(
        "label the namespace trainmesh.dev/inject: enabled and trainmesh.dev/mesh-traffic: direct or \
         disableCapture; with the label of istio-aux alone, the mode has no effect",
    ),
};
/// For a pod of an installation whose rules about the mesh are off.
pub(super) const RULES_OFF: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy, and mesh.enabled is false: label the pod \
         sidecar.istio.io/inject=false",
    fix: Some(
        "set mesh.enabled: true in the configuration and select a mode, label the pods sidecar.istio.io/inject: \
         \"false\", or set their annotations traffic.sidecar.istio.io/includeInboundPorts and \
         includeOutboundIPRanges to \"\"",
    ),
};
/// For a pod whose label, or that of its namespace, selects the mode `leave`.
pub(super) const LEFT: Advice = Advice {
    message: "NCCL and Gloo hang behind Envoy, and trainmesh.dev/mesh-traffic=leave does not change that",
    fix: Some(
        "set trainmesh.dev/mesh-traffic: direct or disableCapture, or label the pods sidecar.istio.io/inject: \
         \"false\"; leave is for jobs of one pod",
    ),
};
/// For a pod whose traffic ztunnel redirects.
pub(super) const AMBIENT: Advice = Advice {
    message: "ztunnel redirects connections between ranks, and accepts them before the peer listens, as Envoy \
         does",
    fix: Some("label the pods istio.io/dataplane-mode: none"),
};
/// For a rank that belongs to no training job.
pub(super) const OUTSIDE: Advice = Advice { message: PEERS_UNKNOWN.message, fix: LABEL_WITHOUT_EFFECT.fix };
/// For a pod whose accelerators use neither NCCL nor RCCL.
pub(super) const OTHER_LIBRARY: Advice = Advice {
    message: "connections between ranks pass through Envoy, whose effect on this kind of accelerator was not measured",
    fix: None,
};
