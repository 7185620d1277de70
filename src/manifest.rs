//! Finds manifests in files, directories, kustomizations and standard input.
//!
//! [`Inputs`] can be read more than once. [`trainmesh_core::manifest`] parses the documents.

mod inputs;
mod kustomize;
mod source;

pub use inputs::{InputError, Inputs};
