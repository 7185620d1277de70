//! Checks that a controller holds the Lease and renews it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::LeaseSpec;

use super::{CheckFinding, Code};
use crate::duration;

/// Maximum difference between the clock of the leader's node, which writes the renew time, and that of the apiserver.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

pub(super) fn check(lease: Option<&LeaseSpec>, now: Timestamp) -> Vec<CheckFinding> {
    let Some(lease) = lease else { return vec![(Code::LeaseMissing, String::new())] };
    let Some(holder) = lease.holder_identity.as_deref().filter(|holder| !holder.is_empty()) else {
        return vec![(Code::LeaseFree, String::new())];
    };
    let term = SignedDuration::from_secs(lease.lease_duration_seconds.unwrap_or_default().into());
    let since_renewal = lease.renew_time.as_ref().map(|renewed| now.duration_since(renewed.0));
    vec![match since_renewal {
        Some(since) if since <= term + MAX_CLOCK_SKEW => (Code::Led, holder.to_owned()),
        Some(since) => (Code::LeaseStale, format!("{holder}, for {}", format_age(since))),
        None => (Code::LeaseStale, holder.to_owned()),
    }]
}

/// Formats an age in its largest unit of which it has at least two.
fn format_age(age: SignedDuration) -> String {
    let seconds = age.as_secs().unsigned_abs();
    let unit = [86_400, 3_600, 60].into_iter().find(|unit| seconds >= 2 * unit).unwrap_or(1);
    duration::format_with_days(Duration::from_secs(seconds / unit * unit))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use rstest::rstest;

    use super::*;

    fn held(holder: &str, renewed: Option<i64>) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: renewed.map(|second| MicroTime(Timestamp::from_second(second).unwrap())),
            ..LeaseSpec::default()
        }
    }

    #[rstest]
    #[case::none(None, (Code::LeaseMissing, ""))]
    #[case::released(Some(held("", Some(1000))), (Code::LeaseFree, ""))]
    #[case::fresh(Some(held("a_1", Some(995))), (Code::Led, "a_1"))]
    #[case::fast_clock(Some(held("a_1", Some(1030))), (Code::Led, "a_1"))]
    #[case::slow_clock(Some(held("a_1", Some(925))), (Code::Led, "a_1"))]
    #[case::not_renewed(Some(held("a_1", Some(924))), (Code::LeaseStale, "a_1, for 76s"))]
    #[case::never_renewed(Some(held("a_1", None)), (Code::LeaseStale, "a_1"))]
    fn checks_the_holder_and_the_renew_time(#[case] lease: Option<LeaseSpec>, #[case] expected: (Code, &str)) {
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(check(lease.as_ref(), now), [(expected.0, expected.1.to_owned())]);
    }
}
