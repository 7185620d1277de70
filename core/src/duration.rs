//! Durations as Kubernetes writes them: `90s`, `1m30s`, `500ms`.

use std::time::Duration;

/// The format, as a pattern of JSON Schema.
pub const PATTERN: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// Reads a duration. The error says what was expected.
pub fn parse(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a duration such as 90s or 1m30s, found {text:?}");
    let spelt = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'h' | b'm' | b's'));
    if !spelt || !text.ends_with(|last: char| last.is_ascii_alphabetic()) {
        return Err(expected());
    }
    let duration: jiff::SignedDuration = text.parse().map_err(|_| expected())?;
    Duration::try_from(duration).map_err(|_| expected())
}

/// Writes a duration so that [`parse`] reads it back: whole seconds where it has them, else milliseconds.
#[must_use]
pub fn format(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

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
