//! `--fail-on` and `--exit-code`: conditions for exit code 1.

use clap::ValueEnum;

use trainmesh_core::preview::Summary;

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

impl Conditions {
    /// Returns true if one of the conditions occurs in `summary`.
    pub(super) fn occur(&self, summary: &Summary) -> bool {
        let exit_code = self.exit_code.then_some(FailOn::Changed);
        exit_code.iter().chain(&self.fail_on).any(|condition| match condition {
            FailOn::Changed => summary.changed > 0,
            FailOn::Refused => summary.refused > 0,
            FailOn::Unknown => summary.unknown + summary.unsupported + summary.unknown_labels > 0,
            FailOn::Warning => summary.warned + summary.manifest_warnings > 0,
        })
    }
}
