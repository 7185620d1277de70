//! termination.managed: a pod with helpers gets a label by which the controller's watch finds it. Pods with a proxy
//! carry a label of the injector's, but a helper needs no mesh.

use super::{Facts, Ruling, label_pointer};
use crate::keys;
use crate::lifecycle::{Helpers, helpers};
use crate::mutate::{Plan, Reason};

pub(super) const MANAGED: &str = "true";
/// What a warning begins with.
const NAME: &str = "termination.managed";
/// Why a helper that is terminated by a POST is not.
const PORT_FORWARD_OFF: &str = "termination.portForward is false";

pub(super) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    let settings = &facts.snapshot.config.termination;
    if !settings.enabled {
        return Ruling::skipped(Reason::TerminationOff);
    }
    let without_method = match helpers(facts.pod, settings) {
        Helpers::None => return Ruling::skipped(Reason::NoHelpers),
        Helpers::OfEndlessPayload => return Ruling::skipped(Reason::PayloadNeverEnds),
        Helpers::ToEnd { without_method } => without_method,
    };
    let ruling = if facts.pod.label(keys::MANAGED) == Some(MANAGED) {
        Ruling::skipped(Reason::ManagedAlready).at(label_pointer(keys::MANAGED))
    } else if plan.label(keys::MANAGED).is_some() {
        // The fabric's rule may have asked for the same label.
        Ruling::applied(Reason::HelpersManaged, label_pointer(keys::MANAGED))
    } else {
        Ruling::applied(Reason::HelpersManaged, plan.set_label(keys::MANAGED, MANAGED).as_str())
    };
    match &*without_method {
        [] => ruling,
        [one] => ruling.warn(format!("{NAME}: {one} keeps running: {PORT_FORWARD_OFF}")),
        several => ruling.warn(format!("{NAME}: {} keep running: {PORT_FORWARD_OFF}", several.join(", "))),
    }
}
