//! Rule `termination.managed`: labels pods that have sidecars, so that the controller watches them. Istio's injector
//! labels pods with a proxy, but sidecars also run in pods outside the mesh.

use super::{RuleContext, RuleDecision, label_pointer};
use crate::keys;
use crate::lifecycle::{BlockedReason, BlockedSidecar, PodSidecars, pod_sidecars};
use crate::mutate::{Plan, Reason, Verdict};
use crate::pod::Container;
use crate::rule::Note;

/// Value of the label [`keys::MANAGED`].
pub(in crate::mutate) const MANAGED: &str = "true";
/// Prefix of warnings.
const PREFIX: &str = "termination.managed";
/// Reason why a sidecar with an HTTP termination method is not terminated.
const PORT_FORWARD_DISABLED: &str = "a port-forward is required, and termination.portForward is false";
/// Requirement of sidecars with another name than their catalog entry, whose command the chart's exec policy rejects otherwise.
const POLICY: &str = "if the Helm values contain execPolicy.extraContainers";
/// How to fix a sidecar for which no setting permits the termination.
const FIX_METHOD: &str = "follow the message, or name another entry of the catalog by trainmesh.dev/helper-containers; docs/termination.md lists them";
/// How to fix a sidecar of a pod that trainmesh leaves alone.
const FIX_HOST_NETWORK: &str =
    "make the container a native sidecar: in initContainers, with restartPolicy: Always; or remove hostNetwork";

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    let settings = &context.snapshot.config.termination;
    if !settings.enabled {
        return RuleDecision::skipped(Reason::TerminationOff);
    }
    let pointer =
        |name: &str| context.pod.containers().find(|container| container.name() == name).map(Container::pointer);
    let left_out_note = |name: &str| Note {
        text: format!("{name} is neither awaited nor terminated: {} leaves it out", keys::PAYLOAD_CONTAINERS),
        field: pointer(name),
        fix: None,
    };
    let (blocked, renamed, left_out) = match pod_sidecars(context.pod, settings) {
        PodSidecars::None => return RuleDecision::skipped(Reason::NoHelpers),
        PodSidecars::LeftOut(names) => {
            return RuleDecision::skipped(Reason::NoHelpers).with_notes(names.iter().map(|name| left_out_note(name)));
        }
        PodSidecars::MainUnknown(names) => return RuleDecision::skipped(Reason::PayloadUnknown).with_detail(names),
        PodSidecars::MainNeverCompletes => return RuleDecision::skipped(Reason::PayloadNeverEnds),
        PodSidecars::Terminable { blocked, renamed, left_out } => (blocked, renamed, left_out),
    };
    // The controller watches the pod also if it cannot terminate every sidecar: it terminates the others and records an
    // event about this one.
    let is_labeled = context.pod.label(keys::MANAGED) == Some(MANAGED);
    if !is_labeled && plan.label(keys::MANAGED).is_none() {
        plan.set_label(keys::MANAGED, MANAGED);
    }
    if blocked.is_empty() {
        let field = label_pointer(keys::MANAGED);
        let decision = if is_labeled {
            RuleDecision::skipped(Reason::ManagedAlready).with_field(field)
        } else {
            RuleDecision::applied(Reason::HelpersManaged, field)
        };
        let decision = decision.with_notes(left_out.iter().map(|name| left_out_note(name)));
        return if renamed.is_empty() {
            decision
        } else {
            decision.with_detail(format!("{POLICY}: [{}]", renamed.join(", ")))
        };
    }
    let warnings = blocked.iter().map(|sidecar| format!("{PREFIX}: {}", described(sidecar)));
    let notes = blocked.iter().map(|sidecar| Note {
        text: described(sidecar),
        field: pointer(&sidecar.name),
        fix: match sidecar.reason {
            BlockedReason::PortForwardDisabled => None,
            BlockedReason::HostNetwork => Some(FIX_HOST_NETWORK),
            BlockedReason::MainUnknown(_) | BlockedReason::Other(_) => Some(FIX_METHOD),
        },
    });
    let decision = RuleDecision::new(Verdict::Refused, Reason::SidecarNotTerminated);
    warnings.fold(decision, RuleDecision::with_warning).with_notes(notes)
}

/// Returns the message about a sidecar that keeps running.
fn described(sidecar: &BlockedSidecar) -> String {
    let name = &sidecar.name;
    match &sidecar.reason {
        BlockedReason::PortForwardDisabled => format!("{name} keeps running: {PORT_FORWARD_DISABLED}"),
        reason => format!("{name} is not terminated: {reason}"),
    }
}
