//! The apiserver's clock.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::Client;
use kube::client::Body;

use super::request::{RequestError, send};

/// What the apiserver's clock says, to the second: it stands in the head of every answer, whatever that is.
pub async fn now(client: &Client) -> Result<Timestamp, RequestError> {
    let step = "ask for the time";
    let malformed = || RequestError::Malformed(step.to_owned());
    let request = axum::http::Request::get("/version").body(Body::empty()).map_err(|_| malformed())?;
    let head = send(step, client.send(request)).await?;
    let date = head.headers().get(axum::http::header::DATE).and_then(|date| date.to_str().ok());
    date.and_then(read).ok_or_else(malformed)
}

/// Reads a date of HTTP.
fn read(date: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    // The example of RFC 9110.
    #[case("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777))]
    #[case("soon", None)]
    fn dates(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(read(text).map(Timestamp::as_second), expected);
    }
}
