//! The replicas of the webhook that the apiserver can reach.

use super::{Code, Found};

/// Judges how many replicas are ready, behind a Service.
pub(super) fn check(ready: Option<usize>) -> Vec<Found> {
    vec![match ready {
        None => (Code::ServiceMissing, String::new()),
        Some(0) => (Code::NoEndpoints, String::new()),
        Some(1) => (Code::OneEndpoint, String::new()),
        Some(count) => (Code::EndpointsReady, count.to_string()),
    }]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(None, Code::ServiceMissing)]
    #[case(Some(0), Code::NoEndpoints)]
    #[case(Some(1), Code::OneEndpoint)]
    #[case(Some(2), Code::EndpointsReady)]
    fn replicas(#[case] ready: Option<usize>, #[case] expected: Code) {
        assert_eq!(check(ready)[0].0, expected);
    }
}
