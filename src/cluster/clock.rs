//! The apiserver's clock.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::Client;
use kube::client::Body;

use super::request::{RequestError, send};

/// Returns the time of the apiserver's clock, to the second, from the `Date` header that every response carries.
pub async fn now(client: &Client) -> Result<Timestamp, RequestError> {
    let step = "read the apiserver's time";
    let malformed = || RequestError::Malformed(step.to_owned());
    let request = axum::http::Request::get("/version").body(Body::empty()).map_err(|_| malformed())?;
    let head = send(step, client.send(request)).await?;
    let date = head.headers().get(axum::http::header::DATE).and_then(|date| date.to_str().ok());
    date.and_then(parse_http_date).ok_or_else(malformed)
}

/// Parses an HTTP date.
fn parse_http_date(date: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    // From RFC 9110.
    #[case("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777))]
    #[case("soon", None)]
    fn parses_http_dates(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_http_date(text).map(Timestamp::as_second), expected);
    }
}
