//! Checks the ready replicas of the webhook.

use super::{CheckFinding, Code};

/// Checks the number of ready replicas; `None` if the Service does not exist.
pub(super) fn check(ready: Option<usize>) -> Vec<CheckFinding> {
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
    fn checks_the_number_of_replicas(#[case] ready: Option<usize>, #[case] expected: Code) {
        assert_eq!(check(ready)[0].0, expected);
    }
}
