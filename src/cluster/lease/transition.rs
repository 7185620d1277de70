//! Decides a candidate's next step from its observations. Pure: the time is an argument.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;

/// A lease as observed, and the local monotonic time since which it is unchanged. The timestamps in the lease come from
/// another machine's clock and are ignored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    spec: LeaseSpec,
    since: Instant,
    lease_duration: Duration,
}

/// A candidate's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is no lease: create it.
    Create,
    /// The lease is free or expired: take it.
    Take,
    /// This candidate holds the lease: renew it.
    Renew,
    /// Another candidate holds the lease.
    Wait,
}

impl Observed {
    /// Updates the observation with `spec` as read at `now`. Only a change restarts the lease duration, which is the
    /// holder's own, or `default` if the holder has written none.
    pub(super) fn update(before: Option<Self>, spec: LeaseSpec, default: Duration, now: Instant) -> Self {
        let since = before.filter(|before| before.spec == spec).map_or(now, |before| before.since);
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lease_duration = seconds.map_or(default, Duration::from_secs);
        Self { spec, since, lease_duration }
    }

    /// Returns the holder; an empty identity counts as none.
    pub(super) fn holder(&self) -> Option<&str> {
        self.spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }
}

/// Returns the next step of the candidate `identity`; `observed` is `None` if there is no lease.
pub(super) fn next_step(identity: &str, observed: Option<&Observed>, now: Instant) -> Step {
    let Some(observed) = observed else { return Step::Create };
    match observed.holder() {
        None => Step::Take,
        Some(holder) if holder == identity => Step::Renew,
        Some(_) if now.saturating_duration_since(observed.since) >= observed.lease_duration => Step::Take,
        Some(_) => Step::Wait,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use rstest::rstest;

    use super::*;

    const DEFAULT: Duration = Duration::from_secs(15);

    /// Returns a lease held by `holder` and renewed at `renewed` by the holder's clock.
    fn held(holder: &str, lease_duration: Option<i32>, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: lease_duration,
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        }
    }

    /// Applies the observations (second, lease) in order and checks the last step of candidate `a`.
    fn check(observations: &[(u64, Option<LeaseSpec>)], expected: Step) {
        let start = Instant::now();
        let mut observed = None;
        let mut step = None;
        for (second, spec) in observations {
            let now = start + Duration::from_secs(*second);
            observed = spec.clone().map(|spec| Observed::update(observed.take(), spec, DEFAULT, now));
            step = Some(next_step("a", observed.as_ref(), now));
        }
        assert_eq!(step, Some(expected));
    }

    #[rstest]
    #[case::none(&[(0, None)], Step::Create)]
    #[case::deleted(&[(0, Some(held("b", None, 0))), (1, None)], Step::Create)]
    #[case::empty(&[(0, Some(LeaseSpec::default()))], Step::Take)]
    #[case::released(&[(0, Some(held("b", None, 0))), (1, Some(held("", None, 0)))], Step::Take)]
    #[case::held_by_itself(&[(0, Some(held("a", None, 0)))], Step::Renew)]
    #[case::held_by_itself_for_long(&[(0, Some(held("a", None, 0))), (99, Some(held("a", None, 0)))], Step::Renew)]
    #[case::held_by_another(&[(0, Some(held("b", None, 0)))], Step::Wait)]
    #[case::first_observed_long_after_its_expiry(&[(0, Some(held("b", None, -9_999)))], Step::Wait)]
    #[case::just_before_its_expiry(&[(0, Some(held("b", None, 0))), (14, Some(held("b", None, 0)))], Step::Wait)]
    #[case::at_its_expiry(&[(0, Some(held("b", None, 0))), (15, Some(held("b", None, 0)))], Step::Take)]
    #[case::its_own_lease_duration(&[(0, Some(held("b", Some(60), 0))), (59, Some(held("b", Some(60), 0)))], Step::Wait)]
    #[case::renewed(
        &[(0, Some(held("b", None, 0))), (10, Some(held("b", None, 10))), (20, Some(held("b", None, 10)))],
        Step::Wait
    )]
    #[case::renewed_by_a_clock_running_backwards(
        &[(0, Some(held("b", None, 500))), (10, Some(held("b", None, 5))), (20, Some(held("b", None, 5)))],
        Step::Wait
    )]
    #[case::taken_by_a_third_candidate(
        &[(0, Some(held("b", None, 0))), (14, Some(held("c", None, 0))), (20, Some(held("c", None, 0)))],
        Step::Wait
    )]
    fn next_step_of_a_candidate(#[case] observations: &[(u64, Option<LeaseSpec>)], #[case] expected: Step) {
        check(observations, expected);
    }
}
