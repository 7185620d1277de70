//! Validity period of a certificate, and when its renewal is due.

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Duration by which a new certificate is back-dated, for clients whose clock is slow.
pub const BACK_DATE: Duration = Duration::from_hours(1);

/// Validity period of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// First second of the period.
    pub not_before: Timestamp,
    /// Last second of the period.
    pub not_after: Timestamp,
}

impl Validity {
    /// Creates the back-dated validity of a certificate issued now with this lifetime.
    #[must_use]
    pub fn from_lifetime(now: Timestamp, lifetime: Duration) -> Self {
        Self { not_before: earlier(now, BACK_DATE), not_after: later(now, lifetime) }
    }

    /// Limits the end to that of `other`.
    #[must_use]
    pub fn clamp_to(self, other: Self) -> Self {
        Self { not_after: self.not_after.min(other.not_after), ..self }
    }

    /// Returns true if the period contains `now`. The last second is excluded, because a call takes time.
    #[must_use]
    pub fn contains(self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }

    /// Returns the period in seconds since the Unix epoch.
    #[must_use]
    pub fn seconds(self) -> RangeInclusive<i64> {
        self.not_before.as_second()..=self.not_after.as_second()
    }

    /// Returns true after two thirds of the period, or of `lifetime` if the configured lifetime has been shortened.
    #[must_use]
    pub fn is_renewal_due(self, now: Timestamp, lifetime: Duration) -> bool {
        let issued = later(self.not_before, BACK_DATE);
        let effective = Duration::try_from(self.not_after.duration_since(issued)).unwrap_or_default().min(lifetime);
        now >= later(issued, effective * 2 / 3)
    }
}

// Certificates cannot represent the limits of a timestamp: saturation affects no usable value.
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
    #[case::before_the_back_date(-3601, false, false)]
    #[case::issued(0, true, false)]
    #[case::not_yet_two_thirds(59, true, false)]
    #[case::two_thirds(60, true, true)]
    #[case::last_second(90, false, true)]
    fn validity_and_renewal(#[case] second: i64, #[case] valid: bool, #[case] due: bool) {
        let validity = Validity::from_lifetime(at(0), LIFE);
        assert_eq!((validity.contains(at(second)), validity.is_renewal_due(at(second), LIFE)), (valid, due));
    }

    #[test]
    fn a_shortened_lifetime_applies_at_once() {
        let validity = Validity::from_lifetime(at(0), LIFE);
        assert!(!validity.is_renewal_due(at(19), LIFE / 3) && validity.is_renewal_due(at(20), LIFE / 3));
        assert!(!validity.is_renewal_due(at(59), LIFE * 3), "a longer lifetime applies to the next certificate");
    }

    #[test]
    fn no_certificate_outlives_its_ca() {
        let ca = Validity::from_lifetime(at(0), LIFE);
        let certificate = Validity::from_lifetime(at(80), LIFE).clamp_to(ca);
        assert_eq!((certificate.not_before, certificate.not_after), (at(80 - 3600), at(90)));
    }
}
