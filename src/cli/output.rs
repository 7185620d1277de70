//! The forms in which a preview is printed, by the names of `-o`.

use anstream::ColorChoice;
use clap::ValueEnum;
use trainmesh_core::preview::Preview;
use trainmesh_core::render::{Diff, Explain, Json, OnePatch, Sink, Yaml};

use super::{json, painted, plain};

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

impl Format {
    /// The sink that prints this form to standard output.
    pub(super) fn sink(self, color: ColorChoice, preview: &Preview) -> Box<dyn Sink + '_> {
        match self {
            Self::Diff => Box::new(Diff::new(painted(color))),
            Self::Explain => Box::new(Explain::new(painted(color))),
            Self::Yaml => Box::new(Yaml::new(plain())),
            Self::Json => Box::new(Json::new(json(), preview.config_hash())),
            Self::Patch => Box::new(OnePatch::new(json())),
        }
    }
}
