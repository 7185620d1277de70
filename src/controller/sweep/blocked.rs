//! Describes the sidecars of a stuck pod that cannot be terminated.

use jiff::Timestamp;

use trainmesh_core::config::Termination;
use trainmesh_core::lifecycle::{
    BlockedReason, BlockedSidecar, Completion, PodFacts, PodOverview, SidecarCatalog, is_stabilized,
};

/// Returns the running sidecars that cannot be terminated after the main containers have completed, with the reasons and what to do;
/// `None` if there are none.
pub(super) fn describe(
    facts: &PodFacts,
    settings: &Termination,
    catalog: &SidecarCatalog,
    now: Timestamp,
) -> Option<String> {
    let PodOverview { completion, blocked_sidecars, .. } = PodOverview::new(facts, settings, catalog);
    let Completion::Completed(completed) = completion else { return None };
    if blocked_sidecars.is_empty() || !is_stabilized(facts, settings, completed, now) {
        return None;
    }
    let mut to_forward = Vec::new();
    let mut parts = Vec::new();
    for BlockedSidecar { name, reason } in blocked_sidecars {
        match reason {
            BlockedReason::PortForwardDisabled => to_forward.push(name),
            reason => {
                parts.push(format!("{name} is still running: {reason}: see docs/termination.md#sidecar-containers"));
            }
        }
    }
    let (verb, methods) = match to_forward.len() {
        0 => return Some(parts.join(", and ")),
        1 => ("is", "its method needs"),
        _ => ("are", "their methods need"),
    };
    let names = to_forward.join(" and ");
    let fix = "termination.portForward is false: set it to true in trainmesh's configuration";
    parts.push(format!("{names} {verb} still running: {methods} a port-forward, and {fix}"));
    Some(parts.join(", and "))
}
