//! What holds for every text that is read as a configuration.

use trainmesh_core::config::{Configuration, render};

/// Checks the properties of `text`; returns whether it is a valid configuration.
///
/// - A valid configuration, written out, reads as the same configuration.
/// - An invalid one has at least one problem, and each problem points at a line of the text.
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
            // A parser may miss something only where the text ends. To YAML a lone CR is a line break too.
            let end = text.replace("\r\n", "\n").replace('\r', "\n").lines().count() as u64 + 1;
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|problem| problem.line.is_none_or(|line| (1..=end).contains(&line))));
            assert!(!render("file", &problems).is_empty());
            false
        }
    }
}
