//! YAML in and out: the one place that knows the YAML library.

mod tree;

pub use tree::{Content, Key, Node, Position};
