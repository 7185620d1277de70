//! What the apiserver can do.

use std::time::Duration;

use kube::Client;

use trainmesh_core::error::chain;

/// The answer costs the apiserver nothing; without it we do as with an old one.
const TIMEOUT: Duration = Duration::from_secs(5);
/// From this minor version on a watch can bring the first list too, object by object, and it is on by default.
const STREAMS_LISTS: u32 = 34;

/// Whether a watch can bring the list that it starts from, which spares the apiserver building it in one piece.
pub async fn streams_lists(client: &Client) -> bool {
    match tokio::time::timeout(TIMEOUT, client.apiserver_version()).await {
        Ok(Ok(version)) => minor(&version.minor).is_some_and(|minor| minor >= STREAMS_LISTS),
        Ok(Err(error)) => {
            tracing::warn!("could not read the version of the apiserver: {}", chain(&error));
            false
        }
        Err(_) => false,
    }
}

/// The number in a minor version, to which some providers add a sign: `36+`.
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
    fn minor_versions(#[case] text: &str, #[case] expected: Option<u32>) {
        assert_eq!(minor(text), expected);
    }
}
