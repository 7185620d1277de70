//! termination.managed: a pod with helpers gets a label by which the controller's watch finds it. Pods with a proxy
//! carry a label of the injector's, but a helper needs no mesh.

use super::{Facts, Ruling, label_pointer};
use crate::keys;
use crate::lifecycle::{Helpers, helpers};
use crate::mutate::{Plan, Reason};

pub(super) const MANAGED: &str = "true";

pub(super) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    let settings = &facts.snapshot.config.termination;
    if !settings.enabled {
        return Ruling::skipped(Reason::TerminationOff);
    }
    match helpers(facts.pod, settings) {
        Helpers::None => Ruling::skipped(Reason::NoHelpers),
        Helpers::OfEndlessPayload => Ruling::skipped(Reason::PayloadNeverEnds),
        Helpers::ToEnd if facts.pod.label(keys::MANAGED) == Some(MANAGED) => {
            Ruling::skipped(Reason::ManagedAlready).at(label_pointer(keys::MANAGED))
        }
        // The fabric's rule may have asked for the same label.
        Helpers::ToEnd if plan.label(keys::MANAGED).is_some() => {
            Ruling::applied(Reason::HelpersManaged, label_pointer(keys::MANAGED))
        }
        Helpers::ToEnd => Ruling::applied(Reason::HelpersManaged, plan.set_label(keys::MANAGED, MANAGED).as_str()),
    }
}
