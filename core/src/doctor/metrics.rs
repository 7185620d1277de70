//! Checks that the metrics of the replicas can be read.

use std::collections::BTreeMap;

use super::{CheckFinding, Code, join_names};

/// Checks the ready replicas; the value is true if the apiserver can read the metrics.
pub(super) fn check(reachable: &BTreeMap<String, bool>) -> Vec<CheckFinding> {
    let unreachable: Vec<&String> =
        reachable.iter().filter(|(_, reachable)| !**reachable).map(|(name, _)| name).collect();
    vec![if reachable.is_empty() {
        (Code::MetricsUnasked, String::new())
    } else if unreachable.is_empty() {
        (Code::MetricsServed, reachable.len().to_string())
    } else {
        (Code::MetricsUnreachable, join_names(unreachable))
    }]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], Code::MetricsUnasked, "")]
    #[case(&[("a", true), ("b", true)], Code::MetricsServed, "2")]
    #[case(&[("a", true), ("b", false), ("c", false)], Code::MetricsUnreachable, "b, c")]
    fn checks_the_metrics_of_each_replica(
        #[case] reachable: &[(&str, bool)],
        #[case] code: Code,
        #[case] evidence: &str,
    ) {
        let reachable = reachable.iter().map(|(name, reachable)| ((*name).to_owned(), *reachable)).collect();
        assert_eq!(check(&reachable), [(code, evidence.to_owned())]);
    }
}
