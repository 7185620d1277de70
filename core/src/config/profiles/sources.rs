//! Files of vendors that the profiles and the example configurations were checked against.

/// A file of a vendor's repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileSource {
    /// Name of the built-in profile or example.
    pub profile: &'static str,
    /// Owner and name of the repository on GitHub.
    pub repository: &'static str,
    /// First digits of the commit.
    pub commit: &'static str,
    /// Date of the check.
    pub date: &'static str,
    /// Path in the repository.
    pub file: &'static str,
    /// Hash of the content, as returned by [`crate::hash::of_bytes`].
    pub hash: &'static str,
}

const TEXT: &str = include_str!("../../../../config/fabric-sources.txt");

/// Returns the files, sorted by profile.
pub fn profile_sources() -> impl Iterator<Item = ProfileSource> {
    TEXT.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split(' ');
        let mut next = || words.next();
        let (profile, repository, commit) = (next()?, next()?, next()?);
        Some(ProfileSource { profile, repository, commit, date: next()?, file: next()?, hash: next()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::builtin_profiles;
    use crate::hash;

    #[test]
    fn every_line_is_a_source() {
        let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().all(|line| line.split(' ').count() == 6));
        assert!(lines.clone().is_sorted_by_key(|line| line.split(' ').next()));
        assert_eq!(profile_sources().count(), lines.count());
        for source in profile_sources() {
            let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(hash::is_hash(source.hash) && source.commit.len() == 12 && is_digits(source.commit), "{source:?}");
            assert!(source.repository.split('/').count() == 2 && source.date.len() == 10, "{source:?}");
        }
    }

    #[test]
    fn every_built_in_profile_has_a_source() {
        for name in builtin_profiles().all().into_keys() {
            assert!(profile_sources().any(|source| source.profile == name), "{name}");
        }
    }
}
