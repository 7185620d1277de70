//! Formats ages as kubectl does.

use jiff::SignedDuration;

/// Formats the one or two largest relevant units: `45s`, `5m12s`, `47m`, `3h20m`, `3d4h`, `40d`.
pub(super) fn format_age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |large: i64, unit: &str, small: i64, part: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{part}") }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        () if hours < 3 => format!("{minutes}m"),
        () if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => pair(days, "d", hours % 24, "h"),
        () => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(-3, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(312, "5m12s")]
    #[case(47 * 60 + 3, "47m")]
    #[case(3 * 3600 + 20 * 60, "3h20m")]
    #[case(30 * 3600, "30h")]
    #[case(76 * 3600, "3d4h")]
    #[case(40 * 86400, "40d")]
    fn formats_ages_as_kubectl_does(#[case] seconds: i64, #[case] expected: &str) {
        assert_eq!(format_age(SignedDuration::from_secs(seconds)), expected);
    }
}
