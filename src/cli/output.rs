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

use super::{json, painted, plain};
use trainmesh_core::finding::Finding;
use trainmesh_core::lint;
use trainmesh_core::manifest::DocumentError;
use trainmesh_core::preview::{PodReport, Preview};
use trainmesh_core::printable::Printable;
use trainmesh_core::workload::SOLE_ROLE;

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
            Self::Json => Box::new(json::Json::new(json(), preview.config_hash())),
            Self::Patch => Box::new(patch::OnePatch::new(json())),
        }
    }
}

/// The line above each role: `PyTorchJob default/llama · Worker ×3`.
fn heading(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let PodReport { kind, namespace, name, role, replicas, .. } = report;
    let strong = style::HEADING;
    write!(out, "{strong}{kind} {}/{}", Printable(namespace), Printable(name))?;
    if role != SOLE_ROLE {
        write!(out, " · {}", Printable(role))?;
    }
    if *replicas != 1 {
        write!(out, " ×{replicas}")?;
    }
    writeln!(out, "{strong:#}")
}

/// The warnings of a report, one line each, and what the lint found, in full.
fn warnings(out: &mut impl Write, report: &PodReport) -> io::Result<()> {
    let caution = style::CAUTION;
    let lint = lint::warnings(&report.lint);
    let mut others = report.warnings.iter().filter(|warning| !lint.contains(warning));
    others.try_for_each(|warning| writeln!(out, "  {caution}warning{caution:#} {}", Printable(warning)))?;
    report.lint.iter().try_for_each(|finding| self::finding(out, finding))
}

/// A finding of the lint in full: what is wrong and where, why, and the cure.
pub(super) fn finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let Finding { code, severity, message, evidence: _, fix, subject } = finding;
    let (shade, faint) = (style::severity(*severity), style::FAINT);
    writeln!(
        out,
        "  {shade}{code} {}{shade:#} {} {faint}{}{faint:#}",
        lint::letter(*severity),
        Printable(message),
        Printable(subject)
    )?;
    if let Some(check) = lint::find(code) {
        writeln!(out, "    why: {}", check.why)?;
    }
    if let Some(fix) = fix {
        writeln!(out, "    cure: {}", Printable(fix))?;
    }
    Ok(())
}
