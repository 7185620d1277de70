//! `--fail-on` and `--exit-code`: conditions for exit code 1.

use std::io::Write;

use clap::ValueEnum;

use super::super::print_cause;
use trainmesh_core::lint::OWN_KEYS;
use trainmesh_core::manifest::DocumentWarning;
use trainmesh_core::preview::{Condition, PodReport, Summary};

/// Conditions for exit code 1.
#[derive(Debug, clap::Args)]
pub(super) struct Conditions {
    /// Exit with code 1 if some pod would change; same as --fail-on changed
    #[arg(long)]
    exit_code: bool,
    /// Exit with code 1 if one of these conditions occurs; can be repeated
    #[arg(long, value_enum, value_name = "CONDITION,…", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Some pod would change
    Changed,
    /// A rule is refused for some pod
    Refused,
    /// An unknown kind whose pods cannot be shown, an unknown fabric profile, label or annotation of trainmesh, or an invalid
    /// pod
    Unknown,
    /// Some pod or manifest gets a warning
    Warning,
}

/// Causes for which a condition of `--fail-on` occurs.
#[derive(Debug, Default)]
pub(super) struct Causes {
    lines: Vec<String>,
    /// Number of causes beyond [`MAX_CAUSES`].
    others: usize,
}

/// Maximum number of causes that are printed: one screen. The output without --summary has all.
const MAX_CAUSES: usize = 20;

impl Conditions {
    /// Returns true if one of the conditions occurs in `summary`.
    pub(super) fn occur(&self, summary: &Summary) -> bool {
        let exit_code = self.exit_code.then_some(Condition::Changed);
        exit_code.into_iter().chain(self.conditions()).any(|condition| condition.occurs(summary))
    }

    /// Returns the conditions of `--fail-on`.
    fn conditions(&self) -> impl Iterator<Item = Condition> {
        self.fail_on.iter().map(|condition| match condition {
            FailOn::Changed => Condition::Changed,
            FailOn::Refused => Condition::Refused,
            FailOn::Unknown => Condition::Unknown,
            FailOn::Warning => Condition::Warning,
        })
    }
}

impl Causes {
    /// Adds the causes in `report`. The input may contain its Namespace.
    pub(super) fn add(&mut self, conditions: &Conditions, report: &PodReport, has_namespace: bool) {
        for condition in conditions.conditions() {
            for cause in condition.causes(report, has_namespace) {
                self.push(condition, &cause);
            }
        }
    }

    /// Adds a warning about a document.
    pub(super) fn add_warning(&mut self, conditions: &Conditions, warning: &DocumentWarning) {
        let is_unknown = warning.check == Some(OWN_KEYS.code());
        let is_cause =
            |condition: &Condition| *condition == Condition::Warning || *condition == Condition::Unknown && is_unknown;
        if let Some(condition) = conditions.conditions().find(is_cause) {
            self.push(condition, &warning.to_string());
        }
    }

    /// Adds a document whose pods cannot be shown.
    pub(super) fn add_unsupported(&mut self, conditions: &Conditions, message: &str) {
        if conditions.conditions().any(|condition| condition == Condition::Unknown) {
            self.push(Condition::Unknown, message);
        }
    }

    /// Prints the causes.
    pub(super) fn print(&self, stderr: &mut impl Write) {
        self.lines.iter().for_each(|line| print_cause(stderr, format_args!("{line}")));
        if self.others > 0 {
            print_cause(stderr, format_args!("and {} more", self.others));
        }
    }

    fn push(&mut self, condition: Condition, cause: &str) {
        let line = format!("{}: {cause}", condition.name());
        // Pods share the labels of their namespace.
        if self.lines.contains(&line) {
            return;
        }
        if self.lines.len() < MAX_CAUSES {
            self.lines.push(line);
        } else {
            self.others += 1;
        }
    }
}
