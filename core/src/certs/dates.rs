//! From when until when a certificate is good, and when it is to be renewed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// How far a new certificate's validity reaches back: so far may a clock be slow that judges it.
pub const BACK_DATE: Duration = Duration::from_hours(1);

/// The validity of a certificate that was made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dates {
    /// The first second.
    pub not_before: Timestamp,
    /// The last second.
    pub not_after: Timestamp,
}

impl Dates {
    /// Those of a certificate that is made now and shall last for `lifetime`.
    #[must_use]
    pub fn starting(now: Timestamp, lifetime: Duration) -> Self {
        Self { not_before: earlier(now, BACK_DATE), not_after: later(now, lifetime) }
    }

    /// The same, ending with `other` at the latest.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { not_after: self.not_after.min(other.not_after), ..self }
    }

    /// Whether it is good now. The last second is not used up: a call takes a moment.
    #[must_use]
    pub fn hold(self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }

    /// Whether two thirds of its life are over, or of `lifetime` if that is shorter now than when it was made.
    #[must_use]
    pub fn due(self, now: Timestamp, lifetime: Duration) -> bool {
        let made = later(self.not_before, BACK_DATE);
        let life = Duration::try_from(self.not_after.duration_since(made)).unwrap_or_default().min(lifetime);
        now >= later(made, life * 2 / 3)
    }
}

// The range of a timestamp reaches far beyond that of a certificate: saturation changes nothing that could be used.
fn later(from: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| from.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

fn earlier(from: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| from.checked_sub(by).ok()).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LIFE: Duration = Duration::from_secs(90);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[rstest]
    #[case::within_the_back_date(-3600, true, false)]
    #[case::before_it(-3601, false, false)]
    #[case::made(0, true, false)]
    #[case::not_yet_two_thirds(59, true, false)]
    #[case::two_thirds(60, true, true)]
    #[case::last_second(90, false, true)]
    fn life(#[case] second: i64, #[case] holds: bool, #[case] due: bool) {
        let dates = Dates::starting(at(0), LIFE);
        assert_eq!((dates.hold(at(second)), dates.due(at(second), LIFE)), (holds, due));
    }

    #[test]
    fn a_lifetime_that_was_shortened_counts_at_once() {
        let dates = Dates::starting(at(0), LIFE);
        assert!(!dates.due(at(19), LIFE / 3) && dates.due(at(20), LIFE / 3));
        assert!(!dates.due(at(59), LIFE * 3), "a longer one comes with the next certificate");
    }

    #[test]
    fn no_leaf_outlives_its_authority() {
        let authority = Dates::starting(at(0), LIFE);
        let leaf = Dates::starting(at(80), LIFE).within(authority);
        assert_eq!((leaf.not_before, leaf.not_after), (at(80 - 3600), at(90)));
    }
}
