//! Output formats of previews, by the values of `-o`.

use std::io::{self, Write};

use anstream::ColorChoice;
use clap::ValueEnum;
use trainmesh_core::preview::{PodReport, Preview};
use trainmesh_core::render::{Diff, Explain, Json, JsonResults, SinglePatch, Sink, TextOptions, Yaml};

use super::{buffered_stdout, colored_stdout, json_stdout};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Unified diff of each role's pod, with the reasons of the rules
    Diff,
    /// Patched pods
    Yaml,
    /// JSON with all details
    Json,
    /// JSON Patch of the pod, if there is exactly one
    Patch,
    /// Table of the rules
    Explain,
}

/// Prints previews in some format to standard output.
pub(super) enum Printer<'a> {
    Json(Json<'a, Box<dyn Write>>),
    Other(Box<dyn Sink>),
}

impl Format {
    /// Returns true if the format is for people.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Diff | Self::Explain)
    }

    /// Returns true if the output contains the assumed labels of namespaces.
    pub(super) fn has_premise(self) -> bool {
        self.is_text() || self == Self::Json
    }

    /// Returns the format for a pod that exists, which has no patch; `None` if this format consists of the patch.
    pub(super) fn without_patch(self) -> Option<Self> {
        match self {
            Self::Diff | Self::Explain => Some(Self::Explain),
            Self::Json => Some(Self::Json),
            Self::Yaml | Self::Patch => None,
        }
    }

    /// Returns the printer of this format.
    pub(super) fn printer(self, color: ColorChoice, options: TextOptions, preview: &Preview) -> Printer<'_> {
        Printer::Other(match self {
            Self::Json => return Printer::Json(Json::new(Box::new(json_stdout()), preview.config_hash())),
            Self::Diff => Box::new(Diff::new(colored_stdout(color), options)),
            Self::Explain => Box::new(Explain::new(colored_stdout(color), options)),
            Self::Yaml => Box::new(Yaml::new(buffered_stdout())),
            Self::Patch => Box::new(SinglePatch::new(json_stdout())),
        })
    }
}

impl Printer<'_> {
    /// Prints the reports of a workload, or their `results` if the format is JSON.
    pub(super) fn print(&mut self, reports: &[PodReport], results: Option<&JsonResults>) -> io::Result<()> {
        match (self, results) {
            (Self::Json(json), Some(results)) => json.write_results(results),
            (printer, _) => printer.sink().write_workload(reports),
        }
    }

    pub(super) fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Json(json) => json,
            Self::Other(sink) => sink.as_mut(),
        }
    }
}
