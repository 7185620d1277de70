//! Finds manifests in files, directories, kustomizations and standard input.
//!
//! [`Inputs`] can be read more than once. [`trainmesh_core::manifest`] parses the documents.

mod directory;
mod input_error;
mod inputs;
mod kustomize;
mod kustomize_origins;
mod kustomize_patches;
mod overlay_patches;
mod parallel;
mod paths;
mod pattern;
mod source;

pub use directory::has_extension;
pub use input_error::InputError;
pub use inputs::Inputs;
pub use paths::normalize;
pub use pattern::Pattern;
pub use source::STDIN_NAME;
