//! FP021: training traffic that passes through Envoy or ztunnel. The rule `mesh.traffic` reports the same finding if it
//! leaves the traffic unchanged.

mod interfaces;
mod overridden;
mod texts;

use std::collections::BTreeMap;

use overridden::Override;
use texts::Advice;

use super::LintInput;
use super::context::CheckContext;
use super::sink::FindingSink;
use crate::config::Traffic;
use crate::finding::Severity;
use crate::gang::WorkloadLookup;
use crate::keys;
use crate::pod::{Container, Injection, NotInjected, Pod, uses_nccl};
use crate::rule::{Reason, RuleId, Verdict};
use crate::scope::Mode;
use crate::workload::{self, PodIdentity};

const FIELD: &str = "/metadata/annotations";
const INTERFACES_FIELD: &str = "/metadata/annotations/traffic.sidecar.istio.io~1excludeInterfaces";
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
    /// A label selects the mode `leave`.
    Left,
    /// The pod's own settings take precedence over the mode.
    Overridden(Override),
    /// A label selects another mode, or the rule has applied one or reports why it has not.
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
    // The mode has no effect on ztunnel.
    let is_ambient = matches!(redirection, Redirection::Ambient);
    if is_ambient && (peers == Peers::Labeled || decision == TrafficDecision::Left) {
        return;
    }
    let uses_other_library = !is_ambient && peers != Peers::Labeled && uses_other_library(input.pod);
    if uses_other_library && (input.is_excluded() || decision != TrafficDecision::None) {
        return;
    }
    let (field, advice) = match redirection {
        Redirection::Ambient => (FIELD, texts::AMBIENT),
        Redirection::Sidecar if uses_other_library => (FIELD, texts::OTHER_LIBRARY),
        Redirection::Sidecar => advice(input, peers, decision),
    };
    // The effect of ztunnel, and on libraries other than NCCL, was not measured; the mode `leave` is the user's own choice.
    let is_unknown = is_ambient || uses_other_library || decision == TrafficDecision::Left;
    // A single pod has no peers. Assumed labels do not prove that the cluster has Istio.
    let is_single = || peers == Peers::Labeled && input.replicas == Some(1) && input.pod.controller().is_some();
    let is_info = is_unknown || input.labels_assumed || is_single();
    let severity = if is_info { Severity::Info } else { Severity::Warning };
    match advice.fix {
        Some(fix) => findings.push_with_fix(severity, field, advice.message, fix),
        None => findings.push_as(severity, field, advice.message),
    }
}

/// Returns the field and the texts of the finding about a pod behind Envoy.
fn advice(input: &LintInput<'_>, peers: Peers, decision: TrafficDecision) -> (&'static str, Advice) {
    if peers == Peers::Labeled {
        return (LABEL_FIELD, texts::LABEL_WITHOUT_EFFECT);
    }
    match (input.exclusion(), decision, peers) {
        (Some(Reason::PodOptedOut), ..) => (OPT_OUT_FIELD, texts::OPTED_OUT),
        (Some(Reason::ExcludedNamespace), ..) => (FIELD, texts::EXCLUDED_NAMESPACE),
        (Some(_), ..) => (FIELD, texts::NOT_OPTED_IN),
        (None, TrafficDecision::Overridden(setting), _) => (setting.field(input.pod), setting.advice()),
        (None, TrafficDecision::Left, _) if input.pod.label(keys::MESH_TRAFFIC).is_some() => (LABEL_FIELD, texts::LEFT),
        (None, TrafficDecision::Left, _) => (FIELD, texts::LEFT),
        (None, TrafficDecision::Off, _) => (FIELD, texts::RULES_OFF),
        (None, TrafficDecision::IstioAux, _) => (FIELD, texts::ISTIO_AUX),
        (None, TrafficDecision::Audited, _) => (FIELD, texts::AUDITED),
        (None, _, Peers::Group) => (FIELD, texts::SERVING),
        (None, _, Peers::Outside) => (FIELD, texts::OUTSIDE),
        (None, TrafficDecision::PeersUnknown, _) => {
            let is_read = input.member.is_none_or(|member| member.kind.gang.shape.is_some());
            (FIELD, if is_read { texts::PEERS_UNKNOWN } else { texts::KIND_NOT_READ })
        }
        (None, ..) if !input.pod.captures_all_traffic() => (INTERFACES_FIELD, texts::INTERFACE_CAPTURED),
        (None, ..) => (FIELD, texts::SELECT_MODE),
    }
}

/// Returns true if the pod has accelerators, and none that NCCL or RCCL uses.
fn uses_other_library(pod: Pod<'_>) -> bool {
    let mut resources = pod.containers().filter_map(Container::accelerators).map(|found| found.resource).peekable();
    resources.peek().is_some() && !resources.any(uses_nccl)
}

/// Returns the proxy that redirects the connections of the pod, unless annotations limit what it captures.
fn redirection(input: &LintInput<'_>) -> Option<Redirection> {
    let pod = input.pod;
    let has_proxy = input.injection == Injection::Expected || pod.proxy().is_some();
    // ztunnel does not redirect a pod with a sidecar.
    if !has_proxy && input.injection == Injection::NotExpected(NotInjected::Ambient) {
        return Some(Redirection::Ambient);
    }
    let is_captured = has_proxy && !pod.disables_interception() && !pod.is_gateway();
    let is_affected = || pod.captures_all_traffic() || interfaces::captures_selected(pod);
    (is_captured && is_affected()).then_some(Redirection::Sidecar)
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
        let is_left = label.is_some_and(|mode| Traffic::parse(mode) == Some(Traffic::Leave));
        if has_label && is_left {
            Self::Left
        } else if let Some(setting) = Override::find(input, has_label || is_training()) {
            Self::Overridden(setting)
        } else if !has_label && decisions().all(|rule| rule.outcome == Verdict::Skipped) {
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
