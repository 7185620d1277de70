//! The forms in which a preview is printed: one file each.

mod diff;
mod explain;
mod json;
mod patch;
pub(super) mod style;
mod yaml;

use std::io::{self, Write};

use anstream::ColorChoice;
use clap::ValueEnum;

use super::{painted, plain};
use crate::manifest::DocumentError;
use crate::preview::{PodReport, Preview};

/// A form of output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Format {
    /// A unified diff of each role's pod, with the rules' reasons
    Diff,
    /// The patched pods
    Yaml,
    /// Everything, for machines
    Json,
    /// The JSON patch of the one pod
    Patch,
    /// A table of the rules
    Explain,
}

/// Takes reports one by one, so that an input of any size streams.
pub(super) trait Sink {
    /// Prints one report.
    fn report(&mut self, report: &PodReport) -> anyhow::Result<()>;

    /// Ends the output. The errors have been told on standard error; only a form for machines repeats them.
    fn finish(&mut self, errors: &[DocumentError]) -> anyhow::Result<()>;
}

impl Format {
    /// The sink that prints this form to standard output.
    pub(super) fn sink(self, color: ColorChoice, preview: &Preview) -> Box<dyn Sink + '_> {
        match self {
            Self::Diff => Box::new(diff::Diff::new(painted(color))),
            Self::Explain => Box::new(explain::Explain::new(painted(color))),
            Self::Yaml => Box::new(yaml::Yaml::new(plain())),
            Self::Json => Box::new(json::Json::new(plain(), preview.config_hash())),
            Self::Patch => Box::new(patch::OnePatch::new(plain())),
        }
    }
}

/// `text` without control characters: a name in a manifest must not steer the terminal or forge a line.
pub(super) fn printable(text: &str) -> String {
    let shown = |character: char| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character };
    text.chars().map(shown).collect()
}

/// The line above each role: `PyTorchJob default/llama · Worker ×3`.
fn heading(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let PodReport { kind, namespace, name, role, replicas, .. } = report;
    let strong = style::HEADING;
    write!(out, "{strong}{kind} {}/{}", printable(namespace), printable(name))?;
    if role != "Pod" {
        write!(out, " · {}", printable(role))?;
    }
    if *replicas != 1 {
        write!(out, " ×{replicas}")?;
    }
    writeln!(out, "{strong:#}")
}

/// The warnings of a report, one line each.
fn warnings(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let caution = style::CAUTION;
    report.warnings.iter().try_for_each(|warning| writeln!(out, "  {caution}warning{caution:#} {warning}"))
}
