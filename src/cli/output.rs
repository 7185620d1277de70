//! Output formats of previews, by the values of `-o`.

use anstream::ColorChoice;
use clap::ValueEnum;
use trainmesh_core::preview::Preview;
use trainmesh_core::render::{Diff, Explain, Json, SinglePatch, Sink, TextOptions, Yaml};

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

impl Format {
    /// Returns true if the format is for people.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Diff | Self::Explain)
    }

    /// Returns the sink that prints this format to standard output.
    pub(super) fn sink(self, color: ColorChoice, options: TextOptions, preview: &Preview) -> Box<dyn Sink + '_> {
        match self {
            Self::Diff => Box::new(Diff::new(colored_stdout(color), options)),
            Self::Explain => Box::new(Explain::new(colored_stdout(color), options)),
            Self::Yaml => Box::new(Yaml::new(buffered_stdout())),
            Self::Json => Box::new(Json::new(json_stdout(), preview.config_hash())),
            Self::Patch => Box::new(SinglePatch::new(json_stdout())),
        }
    }
}
