//! Checks that namespaces without a Pod Security label admit what fabric profiles add.

use super::facts::{PodSecurityProbe, ProbeResult};
use super::{CheckFinding, Code, join_names};
use crate::config::PodSecurityDefault;

pub(super) fn check(probe: &PodSecurityProbe) -> Vec<CheckFinding> {
    let PodSecurityProbe { configured, namespaces, omitted } = probe;
    if namespaces.is_empty() {
        return vec![(Code::PodSecurityUnused, String::new())];
    }
    let mut found = Vec::new();
    let probed = |wanted: fn(&ProbeResult) -> bool| namespaces.iter().filter(move |(_, result)| wanted(result));
    let stricter =
        |(_, result): &(&String, &ProbeResult)| required_level(result).is_some_and(|level| level > *configured);
    let rejected: Vec<String> =
        namespaces.iter().filter(stricter).map(|(name, result)| format!("{name} ({result})")).collect();
    let forbidding = probed(|result| required_level(result).is_some()).count();
    let admitting = probed(|result| *result == ProbeResult::Admitted).count();
    if !rejected.is_empty() {
        found.push((Code::PodSecurityForbids, join_names(rejected)));
    } else if forbidding > 0 {
        found.push((Code::PodSecurityConfigured, configured.to_string()));
    } else if admitting > 0 {
        found.push((Code::PodSecurityAdmits, format!("{admitting} probed")));
    }
    let unknown = join_names(probed(|result| *result == ProbeResult::Unknown).map(|(name, _)| name));
    if !unknown.is_empty() {
        found.push((Code::PodSecurityUnknown, unknown));
    }
    if *omitted > 0 {
        found.push((Code::PodSecurityOmitted, format!("{omitted} of {}", omitted + namespaces.len())));
    }
    found
}

/// Returns the value of `fabric.podSecurityDefault` that matches `result`. Security context constraints are not a
/// level; with the strictest level, the fabric rule leaves such pods unchanged.
fn required_level(result: &ProbeResult) -> Option<PodSecurityDefault> {
    match result {
        ProbeResult::PodSecurity(level) => Some(*level),
        ProbeResult::SecurityContextConstraints => Some(PodSecurityDefault::Restricted),
        ProbeResult::Admitted | ProbeResult::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const BASELINE: ProbeResult = ProbeResult::PodSecurity(PodSecurityDefault::Baseline);
    const RESTRICTED: ProbeResult = ProbeResult::PodSecurity(PodSecurityDefault::Restricted);

    fn found(code: Code, about: &str) -> CheckFinding {
        (code, about.to_owned())
    }

    #[rstest]
    #[case::no_namespace(PodSecurityDefault::Unknown, &[], 0, &[found(Code::PodSecurityUnused, "")])]
    #[case::admitted(PodSecurityDefault::Unknown, &[("a", ProbeResult::Admitted)], 0, &[found(Code::PodSecurityAdmits, "1 probed")])]
    #[case::baseline(PodSecurityDefault::Unknown, &[("a", BASELINE)], 0, &[found(Code::PodSecurityForbids, "a (baseline)")])]
    #[case::one_of_two(
        PodSecurityDefault::Privileged,
        &[("a", ProbeResult::Admitted), ("b", ProbeResult::SecurityContextConstraints)],
        0,
        &[found(Code::PodSecurityForbids, "b (SecurityContextConstraints)")]
    )]
    #[case::configured(PodSecurityDefault::Baseline, &[("a", BASELINE)], 0, &[found(Code::PodSecurityConfigured, "baseline")])]
    #[case::configured_stricter(PodSecurityDefault::Restricted, &[("a", BASELINE)], 0, &[found(Code::PodSecurityConfigured, "restricted")])]
    #[case::configured_too_lenient(PodSecurityDefault::Baseline, &[("a", RESTRICTED)], 0, &[found(Code::PodSecurityForbids, "a (restricted)")])]
    #[case::unknown(PodSecurityDefault::Unknown, &[("a", ProbeResult::Unknown)], 0, &[found(Code::PodSecurityUnknown, "a")])]
    #[case::too_many(
        PodSecurityDefault::Unknown,
        &[("a", ProbeResult::Admitted), ("b", ProbeResult::Unknown)],
        7,
        &[
            found(Code::PodSecurityAdmits, "1 probed"),
            found(Code::PodSecurityUnknown, "b"),
            found(Code::PodSecurityOmitted, "7 of 9"),
        ]
    )]
    fn compares_the_probes_with_the_configuration(
        #[case] configured: PodSecurityDefault,
        #[case] namespaces: &[(&str, ProbeResult)],
        #[case] omitted: usize,
        #[case] expected: &[CheckFinding],
    ) {
        let namespaces = namespaces.iter().map(|(name, result)| ((*name).to_owned(), result.clone())).collect();
        assert_eq!(check(&PodSecurityProbe { configured, namespaces, omitted }), expected);
    }
}
