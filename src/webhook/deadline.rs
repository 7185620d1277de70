//! How long an answer may take.

use std::time::Duration;

use axum::http::Uri;

use trainmesh_core::duration;

/// What the apiserver waits when a registration names no time-out.
const DEFAULT: Duration = Duration::from_secs(10);
/// The longest time-out that a registration may name.
const LONGEST: Duration = Duration::from_secs(30);
/// The part of the time that is kept for the way back: an answer that comes late is none, and an HTTP 500 in time
/// tells more than a connection that is cut.
const MARGIN_PERCENT: u32 = 10;

/// The time for a call to `uri`, whose `timeout` is what the apiserver has left.
pub(super) fn of(uri: &Uri) -> Duration {
    let parameters = uri.query().unwrap_or_default().split('&');
    let given = parameters.filter_map(|parameter| parameter.strip_prefix("timeout=")).find_map(parse);
    let time = given.unwrap_or(DEFAULT).min(LONGEST);
    time * (100 - MARGIN_PERCENT) / 100
}

/// A duration as Go writes it: `5s`, `1m30s`.
fn parse(text: &str) -> Option<Duration> {
    duration::parse(text).ok().filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("/mutate", 9000)]
    #[case::given("/mutate?timeout=5s", 4500)]
    #[case::short("/mutate?timeout=1s", 900)]
    #[case::among_others("/mutate?a=b&timeout=2s&c", 1800)]
    #[case::compound("/mutate?timeout=0m3s", 2700)]
    #[case::too_long("/mutate?timeout=1m30s", 27000)]
    #[case::nonsense("/mutate?timeout=soon", 9000)]
    #[case::nothing("/mutate?timeout=0s", 9000)]
    #[case::negative("/mutate?timeout=-5s", 9000)]
    fn time_for_an_answer(#[case] uri: &str, #[case] milliseconds: u64) {
        assert_eq!(of(&uri.parse().unwrap()), Duration::from_millis(milliseconds));
    }
}
