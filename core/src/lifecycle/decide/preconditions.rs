//! Checks for reasons to skip a pod.

use super::CheckResult;
use crate::config::Termination;
use crate::lifecycle::roles::{ProxyRole, Roles};
use crate::lifecycle::{Decision, PodFacts, PodPhase, SkipReason};
use crate::scope::{Exclusion, Mode};

/// Checks the configuration, the namespace and the pod as a whole.
pub(super) fn check_pod(facts: &PodFacts, mode: Result<Mode, Exclusion>, settings: &Termination) -> CheckResult {
    let reason = if settings.enabled { skip_reason(facts, mode) } else { Some(SkipReason::TerminationOff) };
    reason.map_or(Ok(()), |reason| Err(Decision::Skip(reason)))
}

fn skip_reason(facts: &PodFacts, mode: Result<Mode, Exclusion>) -> Option<SkipReason> {
    if let Err(exclusion) = mode {
        return Some(exclusion.into());
    }
    if facts.opted_out {
        return Some(SkipReason::PodOptedOut);
    }
    if facts.deleting {
        return Some(SkipReason::BeingDeleted);
    }
    match facts.phase {
        PodPhase::Pending => return Some(SkipReason::Pending),
        PodPhase::Succeeded | PodPhase::Failed => return Some(SkipReason::Finished),
        PodPhase::Unknown => return Some(SkipReason::PhaseUnknown),
        PodPhase::Running => {}
    }
    // A port on the host's loopback interface may belong to another pod.
    if facts.host_network {
        return Some(SkipReason::HostNetwork);
    }
    if facts.restarting {
        return Some(SkipReason::Restarting);
    }
    facts.too_many_containers.then_some(SkipReason::TooManyContainers)
}

/// Checks that there is a proxy or a sidecar to terminate.
pub(super) fn check_targets(facts: &PodFacts, roles: &Roles<'_>) -> CheckResult {
    if !roles.sidecars.is_empty() {
        return Ok(());
    }
    let reason = match roles.proxy {
        ProxyRole::Classic(_) | ProxyRole::AlwaysRestarted(_) => return Ok(()),
        ProxyRole::Native => SkipReason::NativeProxy,
        ProxyRole::Absent if facts.ambient => SkipReason::Ambient,
        ProxyRole::Absent => SkipReason::NothingToEnd,
    };
    Err(Decision::Skip(reason))
}
