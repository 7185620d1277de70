//! The replicas whose metrics can be read.

use std::collections::BTreeMap;

use super::{Code, Found, several};

/// Judges which of the ready replicas have shown their metrics.
pub(super) fn check(shown: &BTreeMap<String, bool>) -> Vec<Found> {
    let silent: Vec<&String> = shown.iter().filter(|(_, shown)| !**shown).map(|(name, _)| name).collect();
    vec![if shown.is_empty() {
        (Code::MetricsUnasked, String::new())
    } else if silent.is_empty() {
        (Code::MetricsServed, shown.len().to_string())
    } else {
        (Code::MetricsUnreachable, several(silent))
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
    fn replicas(#[case] shown: &[(&str, bool)], #[case] code: Code, #[case] about: &str) {
        let shown = shown.iter().map(|(name, shown)| ((*name).to_owned(), *shown)).collect();
        assert_eq!(check(&shown), [(code, about.to_owned())]);
    }
}
