//! Features of the apiserver.

use std::time::Duration;

use kube::Client;

use trainmesh_core::error::chain;

/// Time limit for reading the version. Without a response the apiserver is treated as an old one.
const TIMEOUT: Duration = Duration::from_secs(5);
/// First minor version in which `WatchList` (streaming lists) is enabled by default.
const MIN_MINOR_VERSION: u32 = 34;

/// Returns true if a watch can stream its initial list, which the apiserver then need not build in one piece.
pub async fn supports_streaming_lists(client: &Client) -> bool {
    match tokio::time::timeout(TIMEOUT, client.apiserver_version()).await {
        Ok(Ok(version)) => minor(&version.minor).is_some_and(|minor| minor >= MIN_MINOR_VERSION),
        Ok(Err(error)) => {
            tracing::warn!("could not read the version of the apiserver: {}", chain(&error));
            false
        }
        Err(_) => false,
    }
}

/// Parses a minor version, to which some providers add a sign: `36+`.
fn minor(text: &str) -> Option<u32> {
    text.trim_end_matches(|last: char| !last.is_ascii_digit()).parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::minor;

    #[rstest]
    #[case("36", Some(36))]
    #[case("36+", Some(36))]
    #[case("", None)]
    fn parses_minor_versions(#[case] text: &str, #[case] expected: Option<u32>) {
        assert_eq!(minor(text), expected);
    }
}
