//! Patterns of `--exclude`, as in gitignore: `*`, `?` and `[…]` within a name, `**` for any number of directories.

mod name;

use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use name::NamePattern;

/// A pattern for paths.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Patterns of the names of directories, and of the file.
    names: Vec<NamePattern>,
    /// True if the pattern has no slash: it matches the name of a file or directory at any level.
    any_level: bool,
    /// Text on the command line.
    text: String,
    /// Set once the pattern has matched a path. Clones share it.
    is_used: Arc<AtomicBool>,
}

/// Maximum length of a pattern in bytes: that of a path in Linux.
const MAX_LENGTH: usize = 4096;

impl Pattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("longer than the limit of {MAX_LENGTH} bytes"));
        }
        if text.starts_with('!') {
            return Err("a pattern with ! does not include a file again: leave out less with the others".to_owned());
        }
        let trimmed = text.trim_end_matches('/');
        let names = trimmed.split('/').filter(|name| !name.is_empty() && *name != ".");
        let names = names.map(NamePattern::parse).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Err("expected a pattern such as vendor or 'charts/**/*.yaml'".to_owned());
        }
        let (text, is_used) = (text.to_owned(), Arc::default());
        Ok(Self { names, any_level: !trimmed.contains('/'), text, is_used })
    }

    /// Returns the text of the pattern if it has matched no path.
    #[must_use]
    pub fn unused(&self) -> Option<&str> {
        (!self.is_used.load(Ordering::Relaxed)).then_some(&self.text)
    }

    /// Returns true if the pattern matches `path`, a file or directory, or `below`, the part of the path below a directory.
    pub(super) fn excludes(&self, path: &Path, below: &Path) -> bool {
        let matches = self.matches(below) || self.matches(path);
        if matches {
            self.is_used.store(true, Ordering::Relaxed);
        }
        matches
    }

    /// Returns true if the pattern matches `path`.
    fn matches(&self, path: &Path) -> bool {
        let names: Vec<String> = path
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect();
        if self.any_level {
            return names.last().is_some_and(|name| self.names.iter().all(|pattern| pattern.matches(name)));
        }
        matches_names(&self.names, &names)
    }
}

/// Returns true if each pattern matches its name. Computes the matches of every start of `patterns` with every start of `names`, so
/// that the time is bounded by the product of their lengths.
fn matches_names(patterns: &[NamePattern], names: &[String]) -> bool {
    let mut matched = vec![false; names.len() + 1];
    matched[0] = true;
    for pattern in patterns {
        if pattern.is_any_directories() {
            for index in 1..matched.len() {
                matched[index] |= matched[index - 1];
            }
        } else {
            for index in (1..matched.len()).rev() {
                matched[index] = matched[index - 1] && pattern.matches(&names[index - 1]);
            }
            matched[0] = false;
        }
    }
    matched.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::name("vendor", "vendor", true)]
    #[case::name_at_any_level("vendor", "a/b/vendor", true)]
    #[case::directory("vendor/", "a/vendor", true)]
    #[case::part_of_a_name("vendor", "vendored", false)]
    #[case::star("*.tmpl.yaml", "a/b.tmpl.yaml", true)]
    #[case::star_takes_no_slash("a/*.yaml", "a/b/c.yaml", false)]
    #[case::question_mark("a?.yaml", "ab.yaml", true)]
    #[case::path("a/b", "a/b", true)]
    #[case::path_from_the_root("a/b", "c/a/b", false)]
    #[case::leading_dot("./a/b", "a/b", true)]
    #[case::directories("a/**/c.yaml", "a/b/d/c.yaml", true)]
    #[case::no_directory("a/**/c.yaml", "a/c.yaml", true)]
    #[case::all_below("a/**", "a/b/c", true)]
    #[case::at_any_level("**/a/*.yaml", "b/a/c.yaml", true)]
    #[case::several_stars("a*b*c", "aXbXbc", true)]
    #[case::several_stars_without_the_end("a*b*c", "aXbXb", false)]
    #[case::end("*", "", false)]
    #[case::class("team-[ab]", "team-b", true)]
    #[case::class_of_a_range("[a-c]?.yaml", "bx.yaml", true)]
    #[case::other_range("[a-c]", "d", false)]
    #[case::negated("[!ab]", "a", false)]
    #[case::negated_with_a_caret("x[^ab]", "xc", true)]
    #[case::bracket_in_a_class("[]a]", "]", true)]
    #[case::hyphen_in_a_class("a[x-]b", "a-b", true)]
    #[case::class_takes_one("[ab]", "ab", false)]
    #[case::escaped("\\[a\\]", "[a]", true)]
    #[case::escaped_star("\\*", "a", false)]
    fn patterns_match_names_and_paths(#[case] pattern: &str, #[case] path: &str, #[case] expected: bool) {
        assert_eq!(Pattern::parse(pattern).unwrap().matches(Path::new(path)), expected);
    }

    #[rstest]
    #[case::empty("")]
    #[case::root("/")]
    #[case::inclusion("!a")]
    #[case::open_class("[ab")]
    #[case::named_class("[[:alpha:]]")]
    #[case::long(&"a".repeat(4097))]
    fn invalid_patterns_are_rejected(#[case] pattern: &str) {
        assert!(Pattern::parse(pattern).is_err());
    }

    #[test]
    fn many_stars_take_little_time() {
        let pattern = Pattern::parse(&"*a".repeat(2048)).unwrap();
        assert!(!pattern.matches(Path::new(&"a".repeat(2000))));
        let pattern = Pattern::parse(&"**/a/".repeat(800)).unwrap();
        assert!(!pattern.matches(Path::new(&"a/".repeat(700))));
    }
}
