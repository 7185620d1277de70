//! Finds manifests in files, directories and standard input.
//!
//! [`Inputs`] reads what it finds as often as it is asked to. What becomes of the bytes is
//! [`trainmesh_core::manifest`].

mod inputs;
mod source;

pub use inputs::{InputError, Inputs};
