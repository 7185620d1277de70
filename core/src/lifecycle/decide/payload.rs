//! Whether the payload has ended for good, and for how long.

use std::time::Duration;

use jiff::Timestamp;

use super::Ruling;
use crate::lifecycle::finality::Outlook;
use crate::lifecycle::{ContainerFacts, Decision, PodFacts, Skip, State, Why};

/// A clock of a node that is farther ahead of ours than this is wrong, and says nothing about how long ago anything was.
const LARGEST_SKEW: Duration = Duration::from_mins(1);

/// Whether the payload is one that can end at all.
pub(super) fn can_end(payload: &[&ContainerFacts]) -> Ruling {
    if payload.is_empty() {
        return Err(Decision::Skip(Skip::NoPayload));
    }
    if payload.iter().all(|container| container.can_end()) {
        Ok(())
    } else {
        Err(Decision::Skip(Skip::PayloadNeverEnds))
    }
}

/// When the payload ended, where all of it has for good; `None` where the kubelet does not tell the time.
pub(super) fn ended(facts: &PodFacts, payload: &[&ContainerFacts]) -> Result<Option<Timestamp>, Decision> {
    // The container that takes all others with it need not be one of the payload.
    if facts.containers.iter().any(|container| container.outlook() == Outlook::RestartsAll) {
        return Err(wait(Why::PodRestarting));
    }
    for container in payload {
        match container.outlook() {
            Outlook::Final => {}
            Outlook::Unknown => return Err(wait(Why::StatusIncomplete)),
            Outlook::Alive => return Err(wait(Why::PayloadRunning)),
            Outlook::Restarts | Outlook::RestartsAll => return Err(wait(Why::PayloadRestarting)),
        }
    }
    Ok(last_end(payload))
}

/// The settle window: it gives the kubelet time to say that something runs again, and the proxy to send what it holds.
pub(super) fn settled(ended: Option<Timestamp>, window: Duration, now: Timestamp) -> Ruling {
    let Some(ended) = ended.filter(|ended| *ended <= now + LARGEST_SKEW) else { return Ok(()) };
    let until = ended + window;
    if now < until { Err(Decision::Wait { until: Some(until), why: Why::Settling }) } else { Ok(()) }
}

/// The last end that the kubelet tells.
pub(super) fn last_end(payload: &[&ContainerFacts]) -> Option<Timestamp> {
    payload.iter().filter_map(|container| finished(container)).max()
}

/// When `container` ended.
pub(super) fn finished(container: &ContainerFacts) -> Option<Timestamp> {
    if let State::Terminated { finished, .. } = container.state { finished } else { None }
}

fn wait(why: Why) -> Decision {
    Decision::Wait { until: None, why }
}
