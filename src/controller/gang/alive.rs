//! Proof that a scheduler runs.

use jiff::{SignedDuration, Timestamp};

/// Time for which a status shows that the scheduler runs. `PodGroups` outlive a scheduler that was removed, and those of
/// running jobs change rarely.
const VALIDITY: SignedDuration = SignedDuration::from_hours(24);
/// Maximum difference between the clocks of the controller and the apiserver. Users can write times of the future.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// Returns until when the scheduler counts as running that wrote a status at these times; `None` if it does not.
pub(super) fn proof_end(written: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let last = written.filter(|time| *time <= now + MAX_CLOCK_SKEW).max()?;
    let end = last + VALIDITY;
    (now < end).then_some(end)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Times are hours relative to the current time.
    #[rstest]
    #[case::never(&[], None)]
    #[case::recently(&[-1], Some(23))]
    #[case::the_last_one_counts(&[-30, -2, -3], Some(22))]
    #[case::long_ago(&[-30, -24], None)]
    #[case::future(&[1], None)]
    #[case::future_and_past(&[1, -2], Some(22))]
    fn a_status_counts_for_a_day(#[case] written: &[i64], #[case] end: Option<i64>) {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let at = |hours: i64| now + SignedDuration::from_hours(hours);
        assert_eq!(proof_end(written.iter().map(|hours| at(*hours)), now), end.map(at));
    }
}
