//! Every reason to leave a pod alone.

use super::Ruling;
use crate::config::Termination;
use crate::lifecycle::roles::{Proxy, Roles};
use crate::lifecycle::{Decision, Phase, PodFacts, Skip};
use crate::scope::{Exclusion, Mode};

/// Whether pods like this one are looked at at all.
pub(super) fn pass(facts: &PodFacts, mode: Result<Mode, Exclusion>, settings: &Termination) -> Ruling {
    let skip = if settings.enabled { skip(facts, mode) } else { Some(Skip::TerminationOff) };
    skip.map_or(Ok(()), |skip| Err(Decision::Skip(skip)))
}

fn skip(facts: &PodFacts, mode: Result<Mode, Exclusion>) -> Option<Skip> {
    if let Err(why) = mode {
        return Some(why.into());
    }
    if facts.opted_out {
        return Some(Skip::PodOptedOut);
    }
    if facts.deleting {
        return Some(Skip::BeingDeleted);
    }
    match facts.phase {
        Phase::Pending => return Some(Skip::Pending),
        Phase::Succeeded | Phase::Failed => return Some(Skip::Finished),
        Phase::Unknown => return Some(Skip::PhaseUnknown),
        Phase::Running => {}
    }
    // A port of its loopback may belong to another pod.
    if facts.host_network {
        return Some(Skip::HostNetwork);
    }
    if facts.restarting {
        return Some(Skip::Restarting);
    }
    facts.too_many_containers.then_some(Skip::TooManyContainers)
}

/// Whether there is a proxy or a helper that we could end.
pub(super) fn something_to_end(facts: &PodFacts, roles: &Roles<'_>) -> Ruling {
    if !roles.helpers.is_empty() {
        return Ok(());
    }
    let skip = match roles.proxy {
        Proxy::Classic(_) | Proxy::NeverEnds(_) => return Ok(()),
        Proxy::Native => Skip::NativeProxy,
        Proxy::Absent if facts.ambient => Skip::Ambient,
        Proxy::Absent => Skip::NothingToEnd,
    };
    Err(Decision::Skip(skip))
}
