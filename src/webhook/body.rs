//! Reads the body of a call within its limits.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::budget::{Budget, NoRoom, Reservation};
use super::failure::Failure;
use super::limits::LONGEST;

/// How long a body may take to arrive, whatever time the call has: the apiserver has all of it before it sends the head.
const RECEIPT: Duration = Duration::from_secs(3);
/// How much room is made at first for a body of unknown or large length.
const FIRST: usize = 64 * 1024;

/// A whole body, and the memory that it may take.
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    /// Given back after the bytes.
    _reservation: Reservation,
}

/// Reads `body`, for which the call has `time` in all.
pub(super) async fn read(mut body: Body, budget: &Budget, time: Duration) -> Result<Received, Failure> {
    let length = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if length.is_some_and(|length| length > LONGEST) {
        return Err(Failure::TooLarge);
    }
    // Half of the time is kept for the answer.
    let deadline = Instant::now() + RECEIPT.min(time / 2);
    let mut reservation = budget.begin(length);
    let most = length.unwrap_or(LONGEST);
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::select! {
            biased;
            () = reservation.evicted() => return Err(Failure::Evicted),
            frame = timeout_at(deadline, body.frame()) => frame.map_err(|_| Failure::Receipt)?,
        };
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(Failure::Body)?.into_data() else { continue };
        let needed = bytes.len() + data.len();
        if needed > LONGEST {
            return Err(Failure::TooLarge);
        }
        if needed > bytes.capacity() {
            let capacity = (bytes.capacity() * 2).max(FIRST).min(most).max(needed);
            reservation.grow(capacity - bytes.capacity(), deadline).await?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    reservation.complete();
    Ok(Received { bytes, _reservation: reservation })
}

impl From<NoRoom> for Failure {
    fn from(why: NoRoom) -> Self {
        match why {
            NoRoom::Evicted => Self::Evicted,
            NoRoom::InTime => Self::Overloaded,
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
    #[case::just_fits(LONGEST, true)]
    #[case::too_large(LONGEST + 1, false)]
    #[tokio::test]
    async fn lengths(#[case] length: usize, #[case] fits: bool) {
        for body in [Body::from(vec![b'x'; length]), chunks(length)] {
            match read(body, &Budget::new(), Duration::from_mins(1)).await {
                Ok(received) => {
                    assert!(fits);
                    assert_eq!(received.bytes.len(), length);
                    assert!(received.bytes.capacity() <= length.max(FIRST) * 2, "{}", received.bytes.capacity());
                }
                Err(Failure::TooLarge) => assert!(!fits),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_dropped() {
        let body = Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
        let read = read(body, &Budget::new(), Duration::from_millis(2)).await;
        assert!(matches!(read, Err(Failure::Receipt)));
    }
}
