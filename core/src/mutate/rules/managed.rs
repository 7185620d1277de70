//! Rule `termination.managed`: labels pods that have sidecars, so that the controller watches them. Istio's injector
//! labels pods with a proxy, but sidecars also run in pods outside the mesh.

use super::{RuleContext, RuleDecision, label_pointer};
use crate::keys;
use crate::lifecycle::{PodSidecars, pod_sidecars};
use crate::mutate::{Plan, Reason};

/// Value of the label [`keys::MANAGED`].
pub(in crate::mutate) const MANAGED: &str = "true";
/// Prefix of warnings.
const PREFIX: &str = "termination.managed";
/// Reason why a sidecar with an HTTP termination method is not terminated.
const PORT_FORWARD_DISABLED: &str = "a port-forward is required, and termination.portForward is false";

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    let settings = &context.snapshot.config.termination;
    if !settings.enabled {
        return RuleDecision::skipped(Reason::TerminationOff);
    }
    let blocked = match pod_sidecars(context.pod, settings) {
        PodSidecars::None => return RuleDecision::skipped(Reason::NoHelpers),
        PodSidecars::MainNeverCompletes => return RuleDecision::skipped(Reason::PayloadNeverEnds),
        PodSidecars::Terminable { blocked } => blocked,
    };
    let decision = if context.pod.label(keys::MANAGED) == Some(MANAGED) {
        RuleDecision::skipped(Reason::ManagedAlready).with_field(label_pointer(keys::MANAGED))
    } else if plan.label(keys::MANAGED).is_some() {
        // The rule `fabric` plans the same label.
        RuleDecision::applied(Reason::HelpersManaged, label_pointer(keys::MANAGED))
    } else {
        RuleDecision::applied(Reason::HelpersManaged, plan.set_label(keys::MANAGED, MANAGED).as_str())
    };
    match &*blocked {
        [] => decision,
        [one] => decision.with_warning(format!("{PREFIX}: {one} keeps running: {PORT_FORWARD_DISABLED}")),
        several => {
            decision.with_warning(format!("{PREFIX}: {} keep running: {PORT_FORWARD_DISABLED}", several.join(", ")))
        }
    }
}
