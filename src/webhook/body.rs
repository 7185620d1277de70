//! Reads the body of a call within its limits.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::budget::{Budget, Reservation, ReserveError};
use super::failure::Failure;
use super::limits::MAX_BODY;

/// Maximum time to receive a body, whatever the timeout of the call: the apiserver has the complete body before it
/// sends the headers.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Initial capacity for a body of unknown or large length.
const INITIAL_CAPACITY: usize = 64 * 1024;

/// A complete body and its share of the memory budget.
pub(super) struct BufferedBody {
    pub(super) bytes: Vec<u8>,
    /// Declared last, so that it is released after the bytes.
    _reservation: Reservation,
}

/// Reads `body` of a call that must complete within `time_limit`.
pub(super) async fn read(mut body: Body, budget: &Budget, time_limit: Duration) -> Result<BufferedBody, Failure> {
    let length = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if length.is_some_and(|length| length > MAX_BODY) {
        return Err(Failure::TooLarge);
    }
    // Half of the time is reserved for the response.
    let deadline = Instant::now() + RECEIVE_TIMEOUT.min(time_limit / 2);
    let mut reservation = budget.begin(length);
    let max_capacity = length.unwrap_or(MAX_BODY);
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::select! {
            biased;
            () = reservation.evicted() => return Err(Failure::Evicted),
            frame = timeout_at(deadline, body.frame()) => frame.map_err(|_| Failure::BodyTimeout)?,
        };
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(Failure::Body)?.into_data() else { continue };
        let needed = bytes.len() + data.len();
        if needed > MAX_BODY {
            return Err(Failure::TooLarge);
        }
        if needed > bytes.capacity() {
            let capacity = (bytes.capacity() * 2).max(INITIAL_CAPACITY).min(max_capacity).max(needed);
            reservation.grow(capacity - bytes.capacity(), deadline).await?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    reservation.complete();
    Ok(BufferedBody { bytes, _reservation: reservation })
}

impl From<ReserveError> for Failure {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Evicted => Self::Evicted,
            ReserveError::Timeout => Self::Overloaded,
        }
    }
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
    #[case::empty(0, true)]
    #[case::usual(17 * 1024, true)]
    #[case::just_fits(MAX_BODY, true)]
    #[case::too_large(MAX_BODY + 1, false)]
    #[tokio::test]
    async fn bodies_above_the_limit_are_rejected(#[case] length: usize, #[case] fits: bool) {
        for body in [Body::from(vec![b'x'; length]), chunks(length)] {
            match read(body, &Budget::new(), Duration::from_mins(1)).await {
                Ok(received) => {
                    assert!(fits);
                    assert_eq!(received.bytes.len(), length);
                    assert!(
                        received.bytes.capacity() <= length.max(INITIAL_CAPACITY) * 2,
                        "{}",
                        received.bytes.capacity()
                    );
                }
                Err(Failure::TooLarge) => assert!(!fits),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_times_out() {
        let body = Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
        let read = read(body, &Budget::new(), Duration::from_millis(2)).await;
        assert!(matches!(read, Err(Failure::BodyTimeout)));
    }
}
