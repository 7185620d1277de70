//! YAML in and out: the one place that knows the YAML library.

mod read_tree;
mod tree;

pub use read_tree::{TreeError, tree};
pub use tree::{Content, Key, Node, Position};
