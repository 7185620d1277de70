//! `--fail-on` and `--exit-code`: conditions for exit code 1.

use std::io::Write;

use clap::ValueEnum;

use super::super::print_cause;
use trainmesh_core::manifest::DocumentWarning;
use trainmesh_core::preview::{Cause, Condition, PodReport};

/// Conditions for exit code 1.
#[derive(Debug, clap::Args)]
pub(super) struct Conditions {
    /// Exit with code 1 if some pod would change; same as --fail-on changed
    #[arg(long)]
    exit_code: bool,
    /// Exit with code 1 if one of these conditions occurs; can be repeated
    #[arg(long, value_enum, value_name = "CONDITION,…", value_delimiter = ',', ignore_case = true)]
    fail_on: Vec<FailOn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Some pod would change
    Changed,
    /// A rule is refused for some pod, or its fabric profile falls back to TCP
    Refused,
    /// An unknown kind whose pods cannot be shown, an unknown fabric profile, label or annotation of trainmesh, or an invalid
    /// pod
    Unknown,
    /// Some pod or manifest gets a warning, or a finding that preview shows and whose severity is E or W. Of pods without a fabric
    /// profile, adapter or NCCL variable, preview shows few: use lint --fail-on W for all
    Warning,
}

/// Causes for which a condition of `--fail-on` or `--exit-code` occurs.
#[derive(Debug, Default)]
pub(super) struct Causes {
    named: Vec<NamedCause>,
    /// Number of causes beyond [`MAX_CAUSES`].
    others: usize,
}

/// Causes in the pods of a workload.
#[derive(Debug)]
pub(super) struct PodCauses {
    named: Vec<NamedCause>,
}

#[derive(Debug)]
struct NamedCause {
    condition: Condition,
    /// Position and message.
    text: String,
}

/// Maximum number of causes that are printed: one screen. The output without --summary has all.
const MAX_CAUSES: usize = 20;

impl Conditions {
    /// Returns the conditions of both flags, the most specific first: a cause of several is named once, whatever their order in the
    /// flag.
    fn conditions(&self) -> impl Iterator<Item = Condition> {
        let all = [
            (FailOn::Unknown, Condition::Unknown),
            (FailOn::Refused, Condition::Refused),
            (FailOn::Warning, Condition::Warning),
            (FailOn::Changed, Condition::Changed),
        ];
        let is_selected =
            move |name: &FailOn| self.fail_on.contains(name) || self.exit_code && *name == FailOn::Changed;
        all.into_iter().filter(move |(name, _)| is_selected(name)).map(|(_, condition)| condition)
    }
}

impl PodCauses {
    /// Finds the causes in `reports`.
    pub(super) fn new(conditions: &Conditions, reports: &[PodReport]) -> Self {
        let mut named = Vec::new();
        for report in reports {
            let causes = conditions.conditions().flat_map(|condition| {
                let causes = condition.causes(report).into_iter();
                causes.map(move |cause| (condition, cause))
            });
            let causes: Vec<(Condition, Cause<'_>)> = causes.collect();
            let is_rule = |warning: Cause<'_>| causes.iter().any(|(_, cause)| cause.includes(warning, report));
            let distinct = causes.iter().filter(|(_, cause)| !is_rule(*cause));
            let distinct = distinct.map(|(condition, cause)| (*condition, cause.describe(report)));
            named.extend(distinct.map(|(condition, text)| NamedCause { condition, text }));
        }
        Self { named }
    }
}

impl Causes {
    /// Adds the causes in the pods of a workload.
    pub(super) fn add(&mut self, causes: PodCauses) {
        causes.named.into_iter().for_each(|cause| self.push(cause));
    }

    /// Adds a warning about a document.
    pub(super) fn add_warning(&mut self, conditions: &Conditions, warning: &DocumentWarning) {
        let Some(condition) = conditions.conditions().find(|condition| condition.is_caused_by(warning)) else { return };
        self.push(NamedCause { condition, text: warning.to_string() });
    }

    /// Adds a document whose pods cannot be shown.
    pub(super) fn add_unsupported(&mut self, conditions: &Conditions, message: &str) {
        if conditions.conditions().any(|condition| condition == Condition::Unknown) {
            let (condition, text) = (Condition::Unknown, message.to_owned());
            self.push(NamedCause { condition, text });
        }
    }

    /// Returns true if one of the conditions occurs. At least one cause is then printed.
    pub(super) fn occur(&self) -> bool {
        !self.named.is_empty()
    }

    /// Prints the causes.
    pub(super) fn print(&self, stderr: &mut impl Write) {
        for NamedCause { condition, text, .. } in &self.named {
            print_cause(stderr, format_args!("{}: {text}", condition.name()));
        }
        if self.others > 0 {
            print_cause(stderr, format_args!("and {} more", self.others));
        }
    }

    fn push(&mut self, cause: NamedCause) {
        // Several conditions may have the same cause, and pods share the labels of their namespace.
        if self.named.iter().any(|known| known.text == cause.text) {
            return;
        }
        if self.named.len() < MAX_CAUSES {
            self.named.push(cause);
        } else {
            self.others += 1;
        }
    }
}
