//! Checks the version of the apiserver.

use super::{CheckFinding, Code, Version};

/// The oldest supported minor version, as in `kubeVersion` of the chart.
const MIN_MINOR: u32 = 29;

pub(super) fn check(version: &Version) -> Vec<CheckFinding> {
    let Version { major, minor, full } = version;
    // Some providers append a suffix: `36+`.
    let number = minor.trim_end_matches(|last: char| !last.is_ascii_digit()).parse::<u32>();
    let code = match number {
        Ok(number) if major == "1" && number < MIN_MINOR => Code::VersionTooOld,
        Ok(_) if major == "1" => Code::VersionServed,
        _ => Code::VersionUnknown,
    };
    vec![(code, full.clone())]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::oldest("1", "29", Code::VersionServed)]
    #[case::with_a_suffix("1", "36+", Code::VersionServed)]
    #[case::too_old("1", "28", Code::VersionTooOld)]
    #[case::not_a_number("1", "", Code::VersionUnknown)]
    #[case::unknown_major("2", "0", Code::VersionUnknown)]
    fn checks_the_version(#[case] major: &str, #[case] minor: &str, #[case] expected: Code) {
        let version = Version { major: major.to_owned(), minor: minor.to_owned(), full: "v".to_owned() };
        assert_eq!(check(&version), [(expected, "v".to_owned())]);
    }
}
