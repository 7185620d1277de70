//! Properties of the configuration parser.

use trainmesh_core::config::{Configuration, render};

/// Asserts the properties of `text` and returns true if it is a valid configuration.
///
/// - A valid configuration survives serialization and parsing.
/// - An invalid one has at least one problem, and the line of each problem is in the text.
pub fn check(text: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(text) else { return false };
    match Configuration::parse(text) {
        Ok(configuration) => {
            let written = configuration.to_yaml();
            let again = Configuration::parse(&written)
                .unwrap_or_else(|problems| panic!("{}\n{written}", render("written", &problems)));
            assert_eq!(again, configuration, "{written}");
            assert_eq!(again.hash(), configuration.hash());
            true
        }
        Err(problems) => {
            // A problem may be at the end of the text, one line after the last. YAML also breaks lines at a lone CR.
            let end = text.replace("\r\n", "\n").replace('\r', "\n").lines().count() as u64 + 1;
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|problem| problem.line.is_none_or(|line| (1..=end).contains(&line))));
            assert!(!render("file", &problems).is_empty());
            false
        }
    }
}
