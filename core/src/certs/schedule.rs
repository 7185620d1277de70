//! How long things last.

use std::time::Duration;

use thiserror::Error;

/// The longest that the apiservers are given to learn of another `caBundle`. One learns of it by a watch, within a
/// second; five minutes outlast a watch that has broken and is not seen to be broken.
const OVERLAP: Duration = Duration::from_mins(5);
/// Between two looks at the clock, however little there is to do.
const LOOK: Duration = Duration::from_mins(1);
/// Both are parts of a lifetime where that is short, as in a test.
const PARTS: u32 = 12;
/// X.509 counts whole seconds, and [`PARTS`] of them must be told apart.
const SHORTEST: Duration = Duration::from_secs(12);
/// Longer than anyone's cluster, and within what a certificate can say.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

/// How long things last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How long an authority is good.
    pub authority: Duration,
    /// How long a certificate of the webhook is good.
    pub leaf: Duration,
}

/// Lifetimes that make no sense.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ScheduleError {
    /// One of them cannot be kept.
    #[error("a lifetime of {0:?} is out of range: give one between {SHORTEST:?} and 876000h")]
    Range(Duration),
    /// A certificate ends with its authority, which is renewed before.
    #[error("the lifetime of the CA, {authority:?}, is shorter than that of the certificate, {leaf:?}")]
    Order {
        /// The CA's.
        authority: Duration,
        /// The certificate's.
        leaf: Duration,
    },
}

impl Schedule {
    /// One for these lifetimes of CA and certificate.
    pub fn new(authority: Duration, leaf: Duration) -> Result<Self, ScheduleError> {
        if let Some(bad) = [authority, leaf].into_iter().find(|lifetime| !(SHORTEST..=LONGEST).contains(lifetime)) {
            return Err(ScheduleError::Range(bad));
        }
        if authority < leaf {
            return Err(ScheduleError::Order { authority, leaf });
        }
        Ok(Self { authority, leaf })
    }

    /// How long an authority stands in the `caBundle` before it signs.
    #[must_use]
    pub fn overlap(&self) -> Duration {
        OVERLAP.min(self.authority / PARTS)
    }

    /// How long nobody needs to look.
    #[must_use]
    pub fn look(&self) -> Duration {
        LOOK.min(self.leaf / PARTS)
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
    #[case::too_short(90, 11, Err("a lifetime of 11s is out of range"))]
    #[case::too_long(101 * 365 * DAY, 90 * DAY, Err("out of range: give one between 12s and 876000h"))]
    #[case::reversed(60, 61, Err("the lifetime of the CA, 60s, is shorter"))]
    fn lifetimes(#[case] authority: u64, #[case] leaf: u64, #[case] expected: Result<(u64, u64), &str>) {
        match (Schedule::new(Duration::from_secs(authority), Duration::from_secs(leaf)), expected) {
            (Ok(schedule), Ok(expected)) => {
                assert_eq!((schedule.overlap().as_secs(), schedule.look().as_secs()), expected);
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}
