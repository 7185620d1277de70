//! Deadline of a call.

use std::time::Duration;

use axum::http::Uri;

use trainmesh_core::duration;

/// Default timeout of a webhook in a webhook configuration.
const DEFAULT: Duration = Duration::from_secs(10);
/// Maximum timeout of a webhook in a webhook configuration.
const MAX: Duration = Duration::from_secs(30);
/// Share of the timeout reserved for the response to arrive: an HTTP 500 in time is more informative than a cut
/// connection.
const MARGIN_PERCENT: u32 = 10;

/// Returns the time limit of a call to `uri`, whose parameter `timeout` is the apiserver's remaining time.
pub(super) fn time_limit(uri: &Uri) -> Duration {
    let parameters = uri.query().unwrap_or_default().split('&');
    let given = parameters.filter_map(|parameter| parameter.strip_prefix("timeout=")).find_map(parse);
    let timeout = given.unwrap_or(DEFAULT).min(MAX);
    timeout * (100 - MARGIN_PERCENT) / 100
}

/// Parses a Go duration: `5s`, `1m30s`.
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
    #[case::malformed("/mutate?timeout=soon", 9000)]
    #[case::zero("/mutate?timeout=0s", 9000)]
    #[case::negative("/mutate?timeout=-5s", 9000)]
    fn deadline_leaves_a_margin(#[case] uri: &str, #[case] milliseconds: u64) {
        assert_eq!(time_limit(&uri.parse().unwrap()), Duration::from_millis(milliseconds));
    }
}
