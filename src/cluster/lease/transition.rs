//! What a candidate does next, from what it has seen and when it saw it. Pure: the time is an argument.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;

/// A lease as it was seen, and since when it is unchanged by the monotonic clock of this process. The times in the lease
/// come from another machine's clock and count for nothing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    spec: LeaseSpec,
    since: Instant,
    term: Duration,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There is no lease: make it.
    Create,
    /// Nobody holds it any more: take it.
    Take,
    /// It is ours: renew it.
    Renew,
    /// Somebody holds it.
    Wait,
}

impl Observed {
    /// What is known after `spec` was seen at `now`. Only a change starts the term anew. The term is the holder's own,
    /// `usual` where it has written none.
    pub(super) fn update(before: Option<Self>, spec: LeaseSpec, usual: Duration, now: Instant) -> Self {
        let since = before.filter(|before| before.spec == spec).map_or(now, |before| before.since);
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let term = seconds.map_or(usual, Duration::from_secs);
        Self { spec, since, term }
    }

    /// Who holds it; an empty name is nobody's.
    pub(super) fn holder(&self) -> Option<&str> {
        self.spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }
}

/// What the candidate `identity` does at `now`; `observed` is none where there is no lease.
pub(super) fn next(identity: &str, observed: Option<&Observed>, now: Instant) -> Step {
    let Some(observed) = observed else { return Step::Create };
    match observed.holder() {
        None => Step::Take,
        Some(holder) if holder == identity => Step::Renew,
        Some(_) if now.saturating_duration_since(observed.since) >= observed.term => Step::Take,
        Some(_) => Step::Wait,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use rstest::rstest;

    use super::*;

    const USUAL: Duration = Duration::from_secs(15);

    /// A lease held by `holder` and renewed at `renewed` by the holder's clock.
    fn held(holder: &str, term: Option<i32>, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: term,
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        }
    }

    /// Looks at each (second, lease) in turn; what candidate `a` does at the last one.
    fn check(looks: &[(u64, Option<LeaseSpec>)], expected: Step) {
        let start = Instant::now();
        let mut observed = None;
        let mut step = None;
        for (second, spec) in looks {
            let now = start + Duration::from_secs(*second);
            observed = spec.clone().map(|spec| Observed::update(observed.take(), spec, USUAL, now));
            step = Some(next("a", observed.as_ref(), now));
        }
        assert_eq!(step, Some(expected));
    }

    #[rstest]
    #[case::none(&[(0, None)], Step::Create)]
    #[case::deleted(&[(0, Some(held("b", None, 0))), (1, None)], Step::Create)]
    #[case::empty(&[(0, Some(LeaseSpec::default()))], Step::Take)]
    #[case::released(&[(0, Some(held("b", None, 0))), (1, Some(held("", None, 0)))], Step::Take)]
    #[case::ours(&[(0, Some(held("a", None, 0)))], Step::Renew)]
    #[case::ours_and_old(&[(0, Some(held("a", None, 0))), (99, Some(held("a", None, 0)))], Step::Renew)]
    #[case::anothers(&[(0, Some(held("b", None, 0)))], Step::Wait)]
    #[case::first_seen_long_after_its_time(&[(0, Some(held("b", None, -9_999)))], Step::Wait)]
    #[case::just_before_its_end(&[(0, Some(held("b", None, 0))), (14, Some(held("b", None, 0)))], Step::Wait)]
    #[case::at_its_end(&[(0, Some(held("b", None, 0))), (15, Some(held("b", None, 0)))], Step::Take)]
    #[case::its_own_term(&[(0, Some(held("b", Some(60), 0))), (59, Some(held("b", Some(60), 0)))], Step::Wait)]
    #[case::renewed(
        &[(0, Some(held("b", None, 0))), (10, Some(held("b", None, 10))), (20, Some(held("b", None, 10)))],
        Step::Wait
    )]
    #[case::renewed_by_a_clock_that_goes_backwards(
        &[(0, Some(held("b", None, 500))), (10, Some(held("b", None, 5))), (20, Some(held("b", None, 5)))],
        Step::Wait
    )]
    #[case::taken_by_a_third(
        &[(0, Some(held("b", None, 0))), (14, Some(held("c", None, 0))), (20, Some(held("c", None, 0)))],
        Step::Wait
    )]
    fn what_a_candidate_does(#[case] looks: &[(u64, Option<LeaseSpec>)], #[case] expected: Step) {
        check(looks, expected);
    }
}
