//! The limits of a document while it is read.

use serde_json::Value;

use super::super::error::{Error, MAX_DEPTH, MAX_EXPANSION, MAX_NODES, SPLIT_ADVICE};

/// Counts nodes and copied text.
#[derive(Default)]
pub(super) struct Budget {
    nodes: usize,
    /// Bytes of text that anchors and aliases have copied.
    copied: usize,
}

/// The size of a value that is copied.
#[derive(Default)]
struct Extent {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Budget {
    /// Counts `nodes` that end on `line`.
    pub(super) fn count(&mut self, nodes: usize, line: usize) -> Result<(), Error> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            let message = format!("more than the limit of {MAX_NODES} values, with aliases expanded: {SPLIT_ADVICE}");
            return Err(Error::new(line, message));
        }
        Ok(())
    }

    /// Clones `value`, and counts the clone as if the text were repeated at `depth`.
    pub(super) fn copy(&mut self, value: &Value, depth: usize, line: usize) -> Result<Value, Error> {
        let mut extent = Extent::default();
        extent.add(value, depth);
        self.count(extent.nodes, line)?;
        if extent.depth > MAX_DEPTH {
            return Err(Error::too_deep(line));
        }
        self.copied += extent.bytes;
        if self.copied > MAX_EXPANSION {
            let message = format!("aliases repeat more than the limit of {} MiB", MAX_EXPANSION >> 20);
            return Err(Error::new(line, message));
        }
        Ok(value.clone())
    }
}

impl Extent {
    fn add(&mut self, value: &Value, depth: usize) {
        self.nodes += 1;
        match value {
            Value::String(text) => self.bytes += text.len(),
            Value::Array(items) => {
                self.depth = self.depth.max(depth + 1);
                for item in items {
                    self.add(item, depth + 1);
                }
            }
            Value::Object(entries) => {
                self.depth = self.depth.max(depth + 1);
                for (key, value) in entries {
                    self.nodes += 1;
                    self.bytes += key.len();
                    self.add(value, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
