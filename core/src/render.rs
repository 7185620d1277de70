//! Output formats of a preview, one file each. Colors are written as escape sequences.

mod account;
mod diff;
mod explain;
mod json;
mod layout;
mod patch;
mod premise;
pub mod style;
mod text;
mod yaml;

use std::collections::BTreeMap;
use std::io;

pub use diff::Diff;
pub use explain::Explain;
pub use json::{Json, JsonResults, error_to_json, warning_to_json};
pub use layout::Layout;
pub use patch::SinglePatch;
pub use premise::Premise;
pub use text::{ExplainedChecks, position, write_finding};
pub use yaml::Yaml;

use crate::manifest::{DocumentError, DocumentWarning};
use crate::preview::{PodReport, Summary};

/// Writes reports one workload at a time, so that input of any size can be streamed.
pub trait Sink {
    /// Writes the reports of one workload, in the order of its roles. An error of kind `InvalidInput` means that the
    /// format does not support them.
    fn write_workload(&mut self, reports: &[PodReport]) -> io::Result<()>;

    /// Completes the output.
    fn finish(&mut self, closing: &Closing<'_>) -> io::Result<()>;
}

/// End of a preview.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closing<'a> {
    /// Invalid documents, for the machine-readable formats; for other formats, the caller prints them.
    pub errors: &'a [DocumentError],
    /// Warnings about the text of documents, for the same formats.
    pub warnings: &'a [DocumentWarning],
    /// Labels of the namespaces whose labels were assumed, for the machine-readable formats.
    pub assumed: Option<&'a BTreeMap<String, BTreeMap<String, String>>>,
    /// Counts, for the formats for people.
    pub summary: Option<&'a Summary>,
}

/// Options of the formats for people.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// Width of the output.
    pub layout: Layout,
    /// Shows the message of every rule that was skipped, not only its reason.
    pub verbose: bool,
    /// Assumptions of the preview, printed before the first pods that depend on them.
    pub premise: Premise,
}
