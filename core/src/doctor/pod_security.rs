//! Whether namespaces without a Pod Security label admit what fabric profiles add.

use super::facts::{Admission, PodSecurityProbe};
use super::{Code, Found, several};
use crate::config::PodSecurityDefault;

pub(super) fn check(probe: &PodSecurityProbe) -> Vec<Found> {
    let PodSecurityProbe { configured, namespaces, omitted } = probe;
    if namespaces.is_empty() {
        return vec![(Code::PodSecurityUnused, String::new())];
    }
    let mut found = Vec::new();
    let is = |wanted: fn(&Admission) -> bool| namespaces.iter().filter(move |(_, it)| wanted(it));
    let stricter = |(_, admission): &(&String, &Admission)| level(admission).is_some_and(|level| level > *configured);
    let rejected: Vec<String> =
        namespaces.iter().filter(stricter).map(|(name, admission)| format!("{name} ({admission})")).collect();
    let forbidding = is(|it| level(it).is_some()).count();
    let admitting = is(|it| *it == Admission::Admitted).count();
    if !rejected.is_empty() {
        found.push((Code::PodSecurityForbids, several(rejected)));
    } else if forbidding > 0 {
        found.push((Code::PodSecurityConfigured, configured.to_string()));
    } else if admitting > 0 {
        found.push((Code::PodSecurityAdmits, format!("{admitting} probed")));
    }
    let unknown = several(is(|it| *it == Admission::Unknown).map(|(name, _)| name));
    if !unknown.is_empty() {
        found.push((Code::PodSecurityUnknown, unknown));
    }
    if *omitted > 0 {
        found.push((Code::PodSecurityOmitted, format!("{omitted} of {}", omitted + namespaces.len())));
    }
    found
}

/// What `fabric.podSecurityDefault` has to be where `admission` was seen. A security context constraint that refuses the
/// probe is no level: the strictest level leaves such pods alone.
fn level(admission: &Admission) -> Option<PodSecurityDefault> {
    match admission {
        Admission::PodSecurity(level) => Some(*level),
        Admission::SecurityContextConstraints => Some(PodSecurityDefault::Restricted),
        Admission::Admitted | Admission::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const BASELINE: Admission = Admission::PodSecurity(PodSecurityDefault::Baseline);
    const RESTRICTED: Admission = Admission::PodSecurity(PodSecurityDefault::Restricted);

    fn found(code: Code, about: &str) -> Found {
        (code, about.to_owned())
    }

    #[rstest]
    #[case::no_namespace(PodSecurityDefault::Unknown, &[], 0, &[found(Code::PodSecurityUnused, "")])]
    #[case::admitted(PodSecurityDefault::Unknown, &[("a", Admission::Admitted)], 0, &[found(Code::PodSecurityAdmits, "1 probed")])]
    #[case::baseline(PodSecurityDefault::Unknown, &[("a", BASELINE)], 0, &[found(Code::PodSecurityForbids, "a (baseline)")])]
    #[case::one_of_two(
        PodSecurityDefault::Privileged,
        &[("a", Admission::Admitted), ("b", Admission::SecurityContextConstraints)],
        0,
        &[found(Code::PodSecurityForbids, "b (SecurityContextConstraints)")]
    )]
    #[case::configured(PodSecurityDefault::Baseline, &[("a", BASELINE)], 0, &[found(Code::PodSecurityConfigured, "baseline")])]
    #[case::configured_stricter(PodSecurityDefault::Restricted, &[("a", BASELINE)], 0, &[found(Code::PodSecurityConfigured, "restricted")])]
    #[case::not_strict_enough(PodSecurityDefault::Baseline, &[("a", RESTRICTED)], 0, &[found(Code::PodSecurityForbids, "a (restricted)")])]
    #[case::unknown(PodSecurityDefault::Unknown, &[("a", Admission::Unknown)], 0, &[found(Code::PodSecurityUnknown, "a")])]
    #[case::too_many(
        PodSecurityDefault::Unknown,
        &[("a", Admission::Admitted), ("b", Admission::Unknown)],
        7,
        &[
            found(Code::PodSecurityAdmits, "1 probed"),
            found(Code::PodSecurityUnknown, "b"),
            found(Code::PodSecurityOmitted, "7 of 9"),
        ]
    )]
    fn probes(
        #[case] configured: PodSecurityDefault,
        #[case] namespaces: &[(&str, Admission)],
        #[case] omitted: usize,
        #[case] expected: &[Found],
    ) {
        let namespaces = namespaces.iter().map(|(name, admission)| ((*name).to_owned(), admission.clone())).collect();
        assert_eq!(check(&PodSecurityProbe { configured, namespaces, omitted }), expected);
    }
}
