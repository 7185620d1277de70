//! Number of devices, as far as it is known.

use std::fmt;

/// Number of devices: a range, because a claim may have alternatives, or request all devices of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    min: u64,
    /// `None` if no bound is known.
    max: Option<u64>,
}

impl Count {
    /// No device.
    pub const ZERO: Self = Self::exactly(0);
    /// Any number, including none.
    pub const UNKNOWN: Self = Self::at_least(0);

    /// Returns a known number.
    #[must_use]
    pub const fn exactly(count: u64) -> Self {
        Self { min: count, max: Some(count) }
    }

    /// Returns a number with a lower bound only.
    #[must_use]
    pub const fn at_least(min: u64) -> Self {
        Self { min, max: None }
    }

    /// Returns the lower bound.
    #[must_use]
    pub const fn min(self) -> u64 {
        self.min
    }

    /// Returns the upper bound; `None` if it is unknown.
    #[must_use]
    pub const fn max(self) -> Option<u64> {
        self.max
    }

    /// Returns the number, if it is known exactly.
    #[must_use]
    pub fn exact(self) -> Option<u64> {
        self.max.filter(|max| *max == self.min)
    }

    /// Returns true if there is no device.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.max == Some(0)
    }

    /// Returns true if there is at least one device.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.min > 0
    }

    /// Returns true if there are fewer devices than `count`, whatever the number in the range.
    #[must_use]
    pub fn is_less_than(self, count: u64) -> bool {
        self.max.is_some_and(|max| max < count)
    }

    /// Adds other devices.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let max = self.max.zip(other.max).map(|(one, other)| one.saturating_add(other));
        Self { min: self.min.saturating_add(other.min), max }
    }

    /// Returns the range of two alternatives.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.zip(other.max).map(|(one, other)| one.max(other)) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { min, max: Some(max) } if min == max => write!(formatter, "{min}"),
            Self { min, max: Some(max) } => write!(formatter, "{min} to {max}"),
            Self { min: 0, max: None } => formatter.write_str("an unknown number of"),
            Self { min, max: None } => write!(formatter, "at least {min}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::known(Count::exactly(2).plus(Count::exactly(6)), "8", Some(8))]
    #[case::alternatives(Count::exactly(8).or(Count::exactly(4)), "4 to 8", None)]
    #[case::equal_alternatives(Count::exactly(4).or(Count::exactly(4)), "4", Some(4))]
    #[case::all(Count::exactly(2).plus(Count::at_least(1)), "at least 3", None)]
    #[case::all_or_two(Count::at_least(1).or(Count::exactly(2)), "at least 1", None)]
    #[case::unknown(Count::UNKNOWN, "an unknown number of", None)]
    #[case::saturates(Count::exactly(u64::MAX).plus(Count::exactly(1)), "18446744073709551615", Some(u64::MAX))]
    fn counts_are_ranges(#[case] count: Count, #[case] text: &str, #[case] exact: Option<u64>) {
        assert_eq!((count.to_string().as_str(), count.exact()), (text, exact));
    }

    #[rstest]
    #[case::fewer(Count::exactly(7), true)]
    #[case::as_many(Count::exactly(8), false)]
    #[case::perhaps_as_many(Count::exactly(4).or(Count::exactly(8)), false)]
    #[case::unknown(Count::UNKNOWN, false)]
    fn less_means_certainly_less(#[case] count: Count, #[case] expected: bool) {
        assert_eq!(count.is_less_than(8), expected);
    }
}
