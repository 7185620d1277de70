//! Lifetimes of certificates, and the intervals derived from them.

use std::time::Duration;

use thiserror::Error;

use crate::duration;

/// Maximum time for all apiservers to observe a new `caBundle`. Their watches take less than a second; five minutes
/// also cover a broken watch that has not been detected yet.
const OVERLAP: Duration = Duration::from_mins(5);
/// Maximum interval between two evaluations.
const RESYNC: Duration = Duration::from_mins(1);
/// Limits the overlap and the resync interval to this fraction of a lifetime. The limit affects only the short
/// lifetimes of tests.
const LIFETIME_DIVISOR: u32 = 12;
/// Minimum lifetime: one second, the resolution of X.509, times [`LIFETIME_DIVISOR`].
const MIN_LIFETIME: Duration = Duration::from_secs(12);
/// Maximum lifetime: 100 years, which a certificate can represent.
const MAX_LIFETIME: Duration = Duration::from_hours(100 * 365 * 24);

/// Lifetimes of the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Lifetime of a CA.
    pub ca_lifetime: Duration,
    /// Lifetime of a serving certificate.
    pub certificate_lifetime: Duration,
}

/// Invalid lifetimes.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ScheduleError {
    /// A lifetime is out of range.
    #[error("lifetime {} is out of range: use a value between {MIN_LIFETIME:?} and 876000h", text(.0))]
    Range(Duration),
    /// The CA lifetime is shorter than the certificate lifetime, but no certificate outlives its CA.
    #[error("CA lifetime {} is shorter than certificate lifetime {}: increase the CA lifetime", text(.ca), text(.certificate))]
    Order {
        /// Lifetime of the CA.
        ca: Duration,
        /// Lifetime of the serving certificate.
        certificate: Duration,
    },
}

impl Schedule {
    /// Creates a schedule from the lifetimes of CA and serving certificate.
    pub fn new(ca: Duration, certificate: Duration) -> Result<Self, ScheduleError> {
        let range = MIN_LIFETIME..=MAX_LIFETIME;
        if let Some(invalid) = [ca, certificate].into_iter().find(|lifetime| !range.contains(lifetime)) {
            return Err(ScheduleError::Range(invalid));
        }
        if ca < certificate {
            return Err(ScheduleError::Order { ca, certificate });
        }
        Ok(Self { ca_lifetime: ca, certificate_lifetime: certificate })
    }

    /// Returns the time for which a CA must be in the `caBundle` before it signs.
    #[must_use]
    pub fn overlap(&self) -> Duration {
        OVERLAP.min(self.ca_lifetime / LIFETIME_DIVISOR)
    }

    /// Returns the maximum interval between two evaluations.
    #[must_use]
    pub fn resync_interval(&self) -> Duration {
        RESYNC.min(self.certificate_lifetime / LIFETIME_DIVISOR)
    }
}

/// Formats a lifetime in hours if it is a whole number of hours, as in the flags' defaults.
fn text(lifetime: &Duration) -> String {
    const HOUR: u64 = 3600;
    match lifetime.as_secs() {
        seconds @ 1.. if seconds % HOUR == 0 && lifetime.subsec_nanos() == 0 => format!("{}h", seconds / HOUR),
        _ => duration::format(*lifetime),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DAY: u64 = 24 * 3600;

    #[rstest]
    #[case::default(365 * DAY, 90 * DAY, Ok((300, 60)))]
    #[case::short(90, 45, Ok((7, 3)))]
    #[case::equal(12, 12, Ok((1, 1)))]
    #[case::too_short(90, 11, Err("lifetime 11s is out of range"))]
    #[case::too_long(101 * 365 * DAY, 90 * DAY, Err("out of range: use a value between 12s and 876000h"))]
    #[case::reversed(60, 61, Err("CA lifetime 60s is shorter"))]
    fn overlap_and_resync_interval(
        #[case] ca: u64,
        #[case] certificate: u64,
        #[case] expected: Result<(u64, u64), &str>,
    ) {
        match (Schedule::new(Duration::from_secs(ca), Duration::from_secs(certificate)), expected) {
            (Ok(schedule), Ok(expected)) => {
                assert_eq!((schedule.overlap().as_secs(), schedule.resync_interval().as_secs()), expected);
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}
