//! Finds manifests in files, directories and standard input.
//!
//! [`Inputs`] can be read more than once. [`trainmesh_core::manifest`] parses the documents.

mod inputs;
mod source;

pub use inputs::{InputError, Inputs};
