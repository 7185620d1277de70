//! Short forms of paths.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Returns the name of `path` in messages: without `..`, if that denotes the same file.
pub(super) fn display(path: &Path) -> Arc<str> {
    let short = normalize(path);
    let is_same = short.canonicalize().is_ok_and(|found| path.canonicalize().is_ok_and(|original| original == found));
    let name = if is_same { short } else { path.to_owned() };
    name.to_string_lossy().into()
}

/// Resolves `.` and `..` without the file system.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(short.components().next_back(), Some(Component::Normal(_))) => {
                short.pop();
            }
            Component::ParentDir if short.has_root() => {}
            other => short.push(other),
        }
    }
    short
}

/// Returns the same path for each spelling of `path`, relative to `working_directory`. Links to files are files of their own.
pub(super) fn identity(path: &Path, working_directory: &Path) -> PathBuf {
    let absolute = working_directory.join(path);
    // Behind a link to a directory, `..` is not the directory that contains the link.
    if absolute.components().any(|component| component == Component::ParentDir) {
        absolute.canonicalize().unwrap_or(absolute)
    } else {
        normalize(&absolute)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::dots("./a/../b/./c.yaml", "b/c.yaml")]
    #[case::above("../a/../../b", "../../b")]
    #[case::root("/../a/..", "/")]
    fn paths_are_normalized(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(normalize(Path::new(path)), Path::new(expected));
    }
}
