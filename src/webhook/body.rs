//! Reads the body of a call within its limits.

use axum::body::{Body, HttpBody as _};
use http_body_util::BodyExt as _;

use super::failure::Failure;
use super::pool::{LARGE, Place, Pool};

/// The longest body. A review holds the object, at most 3 MiB in the apiserver, and on other operations the old one.
pub(super) const LIMIT: usize = 8 * 1024 * 1024;
/// Room that is made at once where the client tells a length; a lie costs no more.
const FIRST: usize = 64 * 1024;

/// Reads `body`. A large one waits for its room before more of it is read.
pub(super) async fn read(mut body: Body, pool: &Pool) -> Result<(Vec<u8>, Place), Failure> {
    let told = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if told > LIMIT {
        return Err(Failure::TooLarge);
    }
    let mut place = Place::here();
    let mut bytes = Vec::with_capacity(told.min(FIRST));
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Failure::Body)?.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > LIMIT {
            return Err(Failure::TooLarge);
        }
        if length.max(told) > LARGE && !place.apart() {
            place = pool.room().await;
            bytes.reserve(told.saturating_sub(bytes.len()));
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, place))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;
    use rstest::rstest;

    use super::*;

    fn chunks(length: usize) -> Body {
        let chunks = vec![vec![b'x'; 1024]; length / 1024].into_iter().chain([vec![b'x'; length % 1024]]);
        Body::from_stream(stream::iter(chunks.map(Ok::<_, Infallible>)))
    }

    #[rstest]
    #[case::empty(0, Some(false))]
    #[case::usual(17 * 1024, Some(false))]
    #[case::just_small(LARGE, Some(false))]
    #[case::large(LARGE + 1, Some(true))]
    #[case::just_fits(LIMIT, Some(true))]
    #[case::too_large(LIMIT + 1, None)]
    #[tokio::test]
    async fn lengths(#[case] length: usize, #[case] large: Option<bool>) {
        for body in [Body::from(vec![b'x'; length]), chunks(length)] {
            match (read(body, &Pool::new()).await, large) {
                (Ok((bytes, place)), Some(large)) => {
                    assert_eq!(bytes.len(), length);
                    assert_eq!(place.apart(), large);
                }
                (Err(Failure::TooLarge), None) => {}
                (other, _) => panic!("{:?}", other.map(|(bytes, _)| bytes.len())),
            }
        }
    }
}
