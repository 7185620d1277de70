//! Which container is to be told to end, and by which step: helpers in the order of the catalogue, the proxy last.

use std::time::Duration;

use jiff::Timestamp;

use super::{Ruling, Situation};
use crate::lifecycle::finality::Outlook;
use crate::lifecycle::history::Progress;
use crate::lifecycle::roles::{Proxy, Roles};
use crate::lifecycle::{
    ContainerFacts, Decision, Method, Report, ReportCode, Role, Skip, State, Step, Target, Why, ladder,
};

/// How long after the payload's end a helper that does not run is waited for before the proxy is ended without it: it
/// may never run, and an image is pulled or a crash loop left within that time or not at all.
const HELPER_START: Duration = Duration::from_secs(30);

/// Where a container stands that is to end.
enum Standing {
    /// It has ended for good.
    Ended,
    /// It cannot be told to end before it runs.
    NotRunning,
    /// It is to be told to end.
    Due(Step),
    /// It has been told, or cannot be told before then.
    Pending(Timestamp, Why),
    /// So much has been tried that others need not wait for it.
    Hopeless(Timestamp, Why),
}

/// The next step for a pod whose payload `ended` for good.
pub(super) fn next(
    situation: &Situation<'_>,
    roles: &Roles<'_>,
    ended: Option<Timestamp>,
    tell: impl Fn(Report) -> Ruling,
) -> Result<Decision, Decision> {
    let mut later: Option<(Timestamp, Why)> = None;
    let mut not_running = None;
    for (helper, entry) in &roles.helpers {
        match standing(situation, helper, std::slice::from_ref(&entry.step)) {
            Standing::Ended => {}
            Standing::Due(step) => return Ok(end(Role::Helper, helper, step, roles)),
            Standing::Pending(until, why) => return Ok(Decision::Wait { until: Some(until), why }),
            Standing::Hopeless(until, why) => later = earlier(later, (until, why)),
            Standing::NotRunning => {
                let until = ended.map(|ended| ended + HELPER_START).filter(|until| situation.now < *until);
                if until.is_some() {
                    return Ok(Decision::Wait { until, why: Why::HelperStarting });
                }
                not_running = Some(Why::HelperStarting);
            }
        }
    }
    if let Proxy::Classic(proxy) = roles.proxy {
        match standing(situation, proxy, &ladder::of(situation.facts.agent, situation.settings)) {
            Standing::Ended => {}
            Standing::Due(step) => return Ok(end(Role::Proxy, proxy, step, roles)),
            Standing::Pending(until, why) | Standing::Hopeless(until, why) => later = earlier(later, (until, why)),
            Standing::NotRunning => {
                if proxy.state == (State::Waiting { crash_loop: true }) {
                    tell(Report::about(ReportCode::ProxyCrashLoop, &proxy.name))?;
                }
                not_running = Some(Why::ProxyStarting);
            }
        }
    }
    Ok(match (later, not_running) {
        (Some((until, why)), _) => Decision::Wait { until: Some(until), why },
        (None, Some(why)) => Decision::Wait { until: None, why },
        (None, None) => Decision::Skip(match roles.proxy {
            Proxy::Native => Skip::NativeProxy,
            Proxy::NeverEnds(_) => Skip::ProxyNeverEnds,
            Proxy::Classic(_) | Proxy::Absent => Skip::Ended,
        }),
    })
}

/// What would be told to end now, if this were no rehearsal.
pub(super) fn rehearsal(roles: &Roles<'_>) -> Option<Report> {
    let proxy = if let Proxy::Classic(proxy) = roles.proxy { Some(proxy) } else { None };
    let all = roles.helpers.iter().map(|(helper, _)| *helper).chain(proxy);
    let running: Vec<&str> = all.filter(|it| it.state == State::Running).map(|it| &*it.name).collect();
    (!running.is_empty()).then(|| Report::new(ReportCode::WouldEnd).detail(running.join(", ")))
}

fn standing(situation: &Situation<'_>, container: &ContainerFacts, ladder: &[Step]) -> Standing {
    if container.outlook() == Outlook::Final {
        return Standing::Ended;
    }
    let (State::Running, Some(id)) = (container.state, &container.id) else { return Standing::NotRunning };
    let methods: Vec<Method> = ladder.iter().map(|step| step.method).collect();
    let Some(tries) = situation.history.tries(&container.name) else {
        return ladder.first().map_or(Standing::NotRunning, |step| Standing::Due(step.clone()));
    };
    let (until, why) = match tries.progress(id, &methods, situation.now) {
        Progress::Due(step) => {
            return ladder.get(step).map_or(Standing::NotRunning, |step| Standing::Due(step.clone()));
        }
        Progress::Ending(until) => (until, Why::Ending),
        Progress::BackingOff(until) => (until, Why::BackingOff),
        Progress::GivenUp(until) => (until, Why::GivenUp),
    };
    if tries.overdue(situation.now) { Standing::Hopeless(until, why) } else { Standing::Pending(until, why) }
}

fn end(role: Role, container: &ContainerFacts, step: Step, roles: &Roles<'_>) -> Decision {
    let target = Target {
        role,
        container: container.name.clone(),
        id: container.id.clone().unwrap_or_default(),
        payload_restarts: roles.payload_restarts(),
    };
    Decision::End { step, target }
}

fn earlier(one: Option<(Timestamp, Why)>, other: (Timestamp, Why)) -> Option<(Timestamp, Why)> {
    one.filter(|one| one.0 <= other.0).or(Some(other))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(second: i64, why: Why) -> (Timestamp, Why) {
        (Timestamp::from_second(second).unwrap(), why)
    }

    #[rstest]
    #[case::the_only_one(None, at(1, Why::Ending), at(1, Why::Ending))]
    #[case::the_first_is_earlier(Some(at(1, Why::GivenUp)), at(2, Why::Ending), at(1, Why::GivenUp))]
    #[case::the_second_is_earlier(Some(at(2, Why::GivenUp)), at(1, Why::Ending), at(1, Why::Ending))]
    fn the_earlier_of_two_waits(
        #[case] one: Option<(Timestamp, Why)>,
        #[case] other: (Timestamp, Why),
        #[case] expected: (Timestamp, Why),
    ) {
        assert_eq!(earlier(one, other), Some(expected));
    }
}
