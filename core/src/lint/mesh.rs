//! FP021: training traffic that passes through Envoy or ztunnel. The rule `mesh.traffic` reports the same finding if it
//! leaves the traffic unchanged.

use std::collections::BTreeMap;

use super::LintInput;
use super::context::CheckContext;
use super::sink::FindingSink;
use crate::config::Traffic;
use crate::finding::Severity;
use crate::gang::WorkloadLookup;
use crate::keys;
use crate::pod::{Injection, NotInjected};
use crate::rule::{Reason, RuleId, Verdict};
use crate::scope::Mode;
use crate::workload::{self, PodIdentity};

const MESSAGE: &str =
    "NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=direct or disableCapture";
/// Message for a pod that the rules do not change.
const MESSAGE_IF_EXCLUDED: &str =
    "NCCL and Gloo hang behind Envoy, and the pod is not opted in: label it sidecar.istio.io/inject=false";
const FIX_IF_EXCLUDED: &str = "label the namespace trainmesh.dev/inject: enabled, label the pod sidecar.istio.io/inject: \"false\", \
                               or set its annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \
                               \"\"";
/// Message for a pod whose label excludes it.
const MESSAGE_IF_OPTED_OUT: &str =
    "NCCL and Gloo hang behind Envoy, and trainmesh.dev/inject=disabled excludes the pod: remove the label";
const FIX_IF_OPTED_OUT: &str = "remove the label trainmesh.dev/inject from the pod, label it sidecar.istio.io/inject: \"false\", or \
                                set its annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \
                                \"\"";
/// Message for a pod of a namespace that is always excluded.
const MESSAGE_IF_NEVER: &str =
    "NCCL and Gloo hang behind Envoy, and the namespace is excluded: label the pod sidecar.istio.io/inject=false";
const FIX_IF_NEVER: &str = "label the pod sidecar.istio.io/inject: \"false\", set its annotations \
                            traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \"\", or run it in \
                            another namespace";
/// Message for a group that counts as serving, which the mode `direct` does not change.
const MESSAGE_IF_SERVING: &str =
    "NCCL and Gloo hang behind Envoy: label the group trainmesh.dev/mesh-traffic=disableCapture";
const FIX_IF_SERVING: &str = "label the pods trainmesh.dev/mesh-traffic: disableCapture; the mode direct skips a \
                              LeaderWorkerSet, which counts as serving";
/// Message for a pod that the mode `direct` skips, because it belongs to no training job, or neither its fields nor the object of
/// its job show its peers.
const MESSAGE_IF_UNKNOWN: &str =
    "NCCL and Gloo hang behind Envoy, and direct skips the pod: label it trainmesh.dev/mesh-traffic=disableCapture";
const FIX_IF_UNKNOWN: &str = "label the pods trainmesh.dev/mesh-traffic: disableCapture, or enable gang in the configuration, so \
                              that the object of the job shows the number of its pods";
/// Message for a pod with the label `direct` that belongs to no training job.
const MESSAGE_IF_LABELED: &str =
    "label trainmesh.dev/mesh-traffic=direct has no effect: the pod belongs to no training job";
const FIX_IF_OUTSIDE: &str = "label the pods trainmesh.dev/mesh-traffic: disableCapture, or run them as a training job: an \
                              Indexed Job, a JobSet, or a kind of a training operator";
/// Message for a pod that the rule would change, but for audit mode.
const MESSAGE_IN_AUDIT: &str =
    "NCCL and Gloo hang behind Envoy, and audit mode changes no pods: label the pod sidecar.istio.io/inject=false";
const FIX_IN_AUDIT: &str = "label the namespace trainmesh.dev/inject: enabled, label the pods sidecar.istio.io/inject: \"false\", or \
                            set their annotations traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges \
                            to \"\"";
/// Message for a pod of a namespace with the label of istio-aux alone, in which the rule runs for no pod.
const MESSAGE_IF_AUX: &str =
    "NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/inject=enabled, and select a mesh-traffic mode";
const FIX_IF_AUX: &str = "label the namespace trainmesh.dev/inject: enabled and trainmesh.dev/mesh-traffic: direct or disableCapture; \
                          with the label of istio-aux alone, the mode has no effect";
/// Message for a pod of an installation whose rules about the mesh are off.
const MESSAGE_IF_OFF: &str =
    "NCCL and Gloo hang behind Envoy, and mesh.enabled is false: label the pod sidecar.istio.io/inject=false";
const FIX_IF_OFF: &str = "set mesh.enabled: true in the configuration and select a mode, label the pods sidecar.istio.io/inject: \
                          \"false\", or set their annotations traffic.sidecar.istio.io/includeInboundPorts and \
                          includeOutboundIPRanges to \"\"";
const MESSAGE_IN_AMBIENT: &str =
    "ztunnel redirects connections between ranks, and accepts them before the peer listens, as Envoy does";
const FIX_IN_AMBIENT: &str = "label the pods istio.io/dataplane-mode: none";
const FIELD: &str = "/metadata/annotations";
const OPT_OUT_FIELD: &str = "/metadata/labels/trainmesh.dev~1inject";
const LABEL_FIELD: &str = "/metadata/labels/trainmesh.dev~1mesh-traffic";

/// Pods with which the pod communicates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peers {
    /// The other pods of its training job.
    Job,
    /// The other pods of its group of a `LeaderWorkerSet`.
    Group,
    /// Other ranks, although the pod belongs to no training job.
    Outside,
    /// Other ranks according to its label, which selects the mode `direct`: the rule skips it, because it belongs to no training
    /// job.
    Labeled,
}

/// Proxy that redirects the connections of a pod.
enum Redirection {
    /// Envoy in the pod.
    Sidecar,
    /// ztunnel of the node.
    Ambient,
}

/// Decision about the traffic of a pod, by its label or the rule `mesh.traffic`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrafficDecision {
    /// The rule leaves the traffic unchanged.
    None,
    /// The mode `direct` skips the pod, because its peers are unknown.
    PeersUnknown,
    /// The rule would change the pod, but for audit mode.
    Audited,
    /// The rules about the mesh are off, whatever labels select.
    Off,
    /// The label of istio-aux opts the namespace in, with which the rule does not run.
    IstioAux,
    /// A label selects a mode, or the rule has applied one or reports why it has not.
    Applied,
}

/// FP021: the traffic of a training job passes through a proxy.
pub(super) fn captured_traffic(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    check_input(context.input, findings);
}

/// Runs FP021 without a [`CheckContext`].
pub(super) fn check_input(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    let Some(redirection) = redirection(input) else { return };
    let decision = TrafficDecision::of(input);
    let Some(peers) = Peers::of(input).filter(|_| decision != TrafficDecision::Applied) else { return };
    match redirection {
        // The mode has no effect on ztunnel.
        Redirection::Ambient if peers == Peers::Labeled => {}
        // The effect of ztunnel was not measured.
        Redirection::Ambient => {
            findings.push_with_fix(Severity::Info, FIELD, MESSAGE_IN_AMBIENT, FIX_IN_AMBIENT);
        }
        Redirection::Sidecar => {
            // A single pod has no peers. Assumed labels do not prove that the cluster has Istio.
            let is_single = || peers == Peers::Labeled && input.replicas == Some(1) && input.pod.controller().is_some();
            let severity = if input.labels_assumed || is_single() { Severity::Info } else { Severity::Warning };
            if peers == Peers::Labeled {
                findings.push_with_fix(severity, LABEL_FIELD, MESSAGE_IF_LABELED, FIX_IF_OUTSIDE);
            } else if let Some(reason) = input.exclusion() {
                let (field, message, fix) = match reason {
                    Reason::PodOptedOut => (OPT_OUT_FIELD, MESSAGE_IF_OPTED_OUT, FIX_IF_OPTED_OUT),
                    Reason::ExcludedNamespace => (FIELD, MESSAGE_IF_NEVER, FIX_IF_NEVER),
                    _ => (FIELD, MESSAGE_IF_EXCLUDED, FIX_IF_EXCLUDED),
                };
                findings.push_with_fix(severity, field, message, fix);
            } else if decision == TrafficDecision::Off {
                findings.push_with_fix(severity, FIELD, MESSAGE_IF_OFF, FIX_IF_OFF);
            } else if decision == TrafficDecision::IstioAux {
                findings.push_with_fix(severity, FIELD, MESSAGE_IF_AUX, FIX_IF_AUX);
            } else if decision == TrafficDecision::Audited {
                findings.push_with_fix(severity, FIELD, MESSAGE_IN_AUDIT, FIX_IN_AUDIT);
            } else if peers == Peers::Group {
                findings.push_with_fix(severity, FIELD, MESSAGE_IF_SERVING, FIX_IF_SERVING);
            } else if peers == Peers::Outside {
                findings.push_with_fix(severity, FIELD, MESSAGE_IF_UNKNOWN, FIX_IF_OUTSIDE);
            } else if decision == TrafficDecision::PeersUnknown {
                findings.push_with_fix(severity, FIELD, MESSAGE_IF_UNKNOWN, FIX_IF_UNKNOWN);
            } else {
                findings.push_as(severity, FIELD, MESSAGE);
            }
        }
    }
}

/// Returns the proxy that redirects the connections of the pod, unless an annotation configures which.
fn redirection(input: &LintInput<'_>) -> Option<Redirection> {
    let pod = input.pod;
    let has_proxy = input.injection == Injection::Expected || pod.proxy().is_some();
    // ztunnel does not redirect a pod with a sidecar.
    if !has_proxy && input.injection == Injection::NotExpected(NotInjected::Ambient) {
        return Some(Redirection::Ambient);
    }
    let is_captured = has_proxy && !pod.configures_traffic() && !pod.disables_interception();
    is_captured.then_some(Redirection::Sidecar)
}

/// Returns true if the object of the job shows that other pods start with the pod. Those of Volcano Jobs have no field that
/// shows a pod of another role.
fn is_in_gang(input: &LintInput<'_>, member: PodIdentity<'_>) -> bool {
    let by_object = match input.cluster.gang.workload {
        WorkloadLookup::Read(workload) => workload.starts_with_others(input.original),
        WorkloadLookup::NotRead | WorkloadLookup::Failed(_) => false,
    };
    let by_manifest = || input.job.zip(input.role).is_some_and(|(job, role)| job.joint_roles.contains(role));
    member.training && !workload::is_auxiliary_role(member) && (by_object || by_manifest())
}

impl Peers {
    /// Returns `None` if the pod communicates with no other pod, as far as it is known.
    fn of(input: &LintInput<'_>) -> Option<Self> {
        let LintInput { pod, member, replicas, rules, .. } = *input;
        let is_rank = |member| workload::has_training_peers(pod, member, replicas) || is_in_gang(input, member);
        if let Some(member) = member.filter(|member| member.training) {
            return is_rank(member).then_some(Self::Job);
        }
        if member.is_some_and(|member| workload::is_serving_group(pod, member)) {
            return Some(Self::Group);
        }
        if pod.is_gateway() {
            return None;
        }
        if workload::shows_ranks(pod, replicas) {
            return Some(Self::Outside);
        }
        let is_skipped = rules.iter().any(|rule| rule.reason == Reason::NotTraining);
        let is_direct = || pod.label(keys::MESH_TRAFFIC).and_then(Traffic::parse) == Some(Traffic::Direct);
        (is_skipped && is_direct()).then_some(Self::Labeled)
    }
}

impl TrafficDecision {
    fn of(input: &LintInput<'_>) -> Self {
        let LintInput { pod, labels, rules, .. } = *input;
        let decisions = || rules.iter().filter(|rule| rule.rule == RuleId::MeshTraffic);
        let has_reason = |reason: Reason| decisions().any(|rule| rule.reason == reason);
        if has_reason(Reason::MeshOff) {
            return Self::Off;
        } else if has_reason(Reason::IstioAuxNamespace) {
            return Self::IstioAux;
        } else if has_reason(Reason::PeersUnknown) {
            return Self::PeersUnknown;
        }
        let label = pod.label(keys::MESH_TRAFFIC).or(labels.get(keys::MESH_TRAFFIC).map(String::as_str));
        let is_training = || input.member.is_some_and(|member| member.training);
        let skips = |mode: &str| Traffic::parse(mode) == Some(Traffic::Direct) && !is_training();
        // The label affects only pods that are opted in.
        let has_label = label.is_some_and(|mode| !skips(mode)) && !input.is_excluded();
        if !has_label && decisions().all(|rule| rule.outcome == Verdict::Skipped) {
            Self::None
        } else if decisions().any(|rule| rule.outcome == Verdict::Applied) && is_audited(labels) {
            Self::Audited
        } else {
            Self::Applied
        }
    }
}

/// Returns true if the rules change no pods of a namespace with these labels.
fn is_audited(labels: &BTreeMap<String, String>) -> bool {
    labels.get(keys::INJECT).is_some_and(|mode| mode == Mode::Audit.name())
}
