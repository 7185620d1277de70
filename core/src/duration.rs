//! Durations in the format of Kubernetes: `90s`, `1m30s`, `500ms`.

use std::time::Duration;

/// Pattern of the format for JSON Schema.
pub const PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// Parses a duration. The error contains the expected format.
pub fn parse(text: &str) -> Result<Duration, String> {
    parse_units(text)
        .ok_or_else(|| format!("expected a duration such as 90s or 1m30s, found {text:?}{}", hours_hint(text)))
}

/// Parses a duration without days; `None` if it is invalid.
fn parse_units(text: &str) -> Option<Duration> {
    let has_valid_characters =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'h' | b'm' | b's'));
    if !has_valid_characters || !text.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return None;
    }
    let duration: jiff::SignedDuration = text.parse().ok()?;
    Duration::try_from(duration).ok()
}

/// Returns how to write a duration with days, which Kubernetes has not; empty for other texts.
fn hours_hint(text: &str) -> String {
    let Some(duration) = parse_with_days(text).ok().filter(|_| text.contains('d')) else { return String::new() };
    let seconds = duration.as_secs();
    let in_hours = if seconds.is_multiple_of(3600) { format!("{}h", seconds / 3600) } else { format(duration) };
    format!(": days are not supported, write {in_hours}")
}

/// Number of seconds in a day.
const DAY: f64 = 86400.0;

/// Parses a duration that may contain days, as in `264d` and `1d12h`. The result is rounded to whole milliseconds. The
/// error contains the expected format.
pub fn parse_with_days(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a duration such as 264d, 36h or 1m30s, found {text:?}");
    let Some((days, rest)) = text.split_once('d') else { return parse_units(text).ok_or_else(expected) };
    let digits = days.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let days: f64 = days.parse().ok().filter(|_| digits).ok_or_else(expected)?;
    let rest = if rest.is_empty() { Duration::ZERO } else { parse_units(rest).ok_or_else(expected)? };
    let milliseconds = Duration::try_from_secs_f64((days * DAY * 1000.0).round() / 1000.0).map_err(|_| expected())?;
    milliseconds.checked_add(rest).ok_or_else(expected)
}

/// Formats a duration for [`parse`]: in seconds if it is a whole number of seconds, else in milliseconds.
#[must_use]
pub fn format(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}

/// Formats a duration for [`parse_with_days`]: as [`format()`], but whole days, hours and minutes in these units.
#[must_use]
pub fn format_with_days(duration: Duration) -> String {
    format_in(duration, &[(86_400, "d"), (3_600, "h"), (60, "m")])
}

/// Formats a duration for [`parse`]: as [`format()`], but whole hours and minutes in these units.
#[must_use]
pub fn format_with_hours(duration: Duration) -> String {
    format_in(duration, &[(3_600, "h"), (60, "m")])
}

/// Formats a duration in the first of `units`, with their seconds, of which it is a multiple.
fn format_in(duration: Duration, units: &[(u64, &str)]) -> String {
    let seconds = duration.as_secs();
    let is_whole = |unit: u64| seconds > 0 && duration.subsec_nanos() == 0 && seconds.is_multiple_of(unit);
    match units.iter().find(|(unit, _)| is_whole(*unit)) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format(duration),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("264d", Some(264 * 86_400_000))]
    #[case("1d12h", Some(129_600_000))]
    #[case("0.5d", Some(43_200_000))]
    #[case("90s", Some(90_000))]
    #[case("1d2d", None)]
    #[case("d", None)]
    #[case("-1d", None)]
    #[case("1e3d", None)]
    #[case("12h1d", None)]
    #[case(&("9".repeat(400) + "d"), None)]
    fn durations_with_days(#[case] text: &str, #[case] milliseconds: Option<u64>) {
        assert_eq!(parse_with_days(text).ok(), milliseconds.map(Duration::from_millis));
    }

    #[rstest]
    #[case(0, "0s")]
    #[case(1, "1ms")]
    #[case(90_000, "90s")]
    #[case(60_000, "1m")]
    #[case(86_400_000, "1d")]
    #[case(3_153_600_000_000, "36500d")]
    fn formatted_with_days(#[case] milliseconds: u64, #[case] text: &str) {
        let duration = Duration::from_millis(milliseconds);
        assert_eq!(format_with_days(duration), text);
        assert_eq!(parse_with_days(text), Ok(duration));
    }

    #[rstest]
    #[case(0, "0s")]
    #[case(90_000, "90s")]
    #[case(300_000, "5m")]
    #[case(360_000_000, "100h")]
    fn formatted_with_hours(#[case] milliseconds: u64, #[case] text: &str) {
        let duration = Duration::from_millis(milliseconds);
        assert_eq!(format_with_hours(duration), text);
        assert_eq!(parse(text), Ok(duration));
    }

    #[rstest]
    #[case("90d", ": days are not supported, write 2160h")]
    #[case("0.3d", ": days are not supported, write 25920s")]
    #[case("0.1dd", "")]
    #[case("1d2d", "")]
    #[case("90", "")]
    fn hint_for_days(#[case] text: &str, #[case] hint: &str) {
        assert_eq!(parse(text), Err(format!("expected a duration such as 90s or 1m30s, found {text:?}{hint}")));
    }

    #[rstest]
    #[case("90s", Some(90_000))]
    #[case("1m30s", Some(90_000))]
    #[case("1.5h", Some(5_400_000))]
    #[case("500ms", Some(500))]
    #[case("0s", Some(0))]
    #[case("", None)]
    #[case("90", None)]
    #[case("-1s", None)]
    #[case("1 s", None)]
    #[case("s", None)]
    #[case("1d", None)]
    #[case("PT1S", None)]
    fn durations(#[case] text: &str, #[case] milliseconds: Option<u64>) {
        let expected = milliseconds.map(Duration::from_millis);
        assert_eq!(parse(text).ok(), expected);
        if let Some(duration) = expected {
            assert_eq!(parse(&format(duration)), Ok(duration));
        }
    }
}
