//! A document with the line of each value, for messages that point at a field.

use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value};

use super::duplicates::DuplicateKey;

/// A document and its lines.
#[derive(Debug)]
pub struct Tree {
    pub(super) value: Value,
    /// Keys that replace earlier ones.
    pub(super) duplicates: Vec<DuplicateKey>,
    /// The lines of the text; its only item is the document.
    pub(super) lines: Lines,
}

/// A value of a document and its line. Values repeated by an alias or a merge have the line of the alias or merge.
#[derive(Clone, Copy, Debug)]
pub struct Node<'tree> {
    /// The line of its key, counted from 1; without a key, the line on which it starts.
    pub line: u64,
    /// The line on which it starts. A block scalar starts on its first line that is not blank.
    pub start: u64,
    /// The value.
    pub value: &'tree Value,
    lines: Option<&'tree Lines>,
}

/// The recorded lines of a value and of the values in it.
#[derive(Debug, Default)]
pub struct Lines {
    line: u64,
    start: u64,
    /// Lines of the items or entries, in their order. Those of a value repeated by an alias or a merge are missing.
    children: Vec<Self>,
}

impl Tree {
    /// Converts to the value, its duplicate keys and its lines.
    #[must_use]
    pub fn into_parts(self) -> (Value, Vec<DuplicateKey>, Lines) {
        (self.value, self.duplicates, self.lines)
    }

    /// Returns an empty mapping.
    #[must_use]
    pub fn empty() -> Self {
        let lines = Lines { children: vec![Lines::new(1, 1)], ..Lines::default() };
        Self { value: Value::Object(Map::new()), duplicates: Vec::new(), lines }
    }

    /// Converts to the value of `key` in a mapping; null if it does not exist.
    #[must_use]
    pub fn into_entry(mut self, key: &str) -> Self {
        let index = self.value.as_object().and_then(|entries| entries.keys().position(|entry| entry == key));
        let value = self.value.get_mut(key).map(Value::take).unwrap_or_default();
        let lines = index.and_then(|index| self.lines.children.first_mut()?.children.get_mut(index)).map(mem::take);
        Self { value, lines: Lines { children: lines.into_iter().collect(), ..Lines::default() }, ..self }
    }

    /// Adds `offset` to every line.
    pub fn add_to_lines(&mut self, offset: u64) {
        self.lines.add(offset);
    }

    /// Merges the mapping `other` as Helm merges a later file of values: mappings key by key; anything else replaces the
    /// value. Has no effect if one of the two is not a mapping.
    pub fn merge(&mut self, mut other: Self) {
        let (Some(lines), Value::Object(value)) = (self.lines.children.first_mut(), &mut self.value) else { return };
        let Value::Object(new) = other.value else { return };
        merge(value, lines, new, other.lines.children.pop().unwrap_or_default());
    }

    /// Returns the document.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        self.lines.node(&self.value, &[])
    }
}

impl<'tree> Node<'tree> {
    /// Returns the value of `key`, if this node is a mapping that contains it.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.entries().find(|(name, _)| *name == key).map(|(_, entry)| entry)
    }

    /// Returns the entries of a mapping in the order of the text.
    pub fn entries(self) -> impl Iterator<Item = (&'tree str, Self)> {
        let entries = self.value.as_object().into_iter().flatten().enumerate();
        entries.map(move |(index, (key, value))| (key.as_str(), self.child(index, value)))
    }

    /// Returns the items of a list.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(move |(index, value)| self.child(index, value))
    }

    /// Returns an item of a list.
    #[must_use]
    pub fn item(self, index: usize) -> Option<Self> {
        Some(self.child(index, self.value.as_array()?.get(index)?))
    }

    fn child(self, index: usize, value: &'tree Value) -> Self {
        let lines = self.lines.and_then(|lines| lines.children.get(index));
        let (line, start) = lines.map_or((self.line, self.line), |lines| (lines.line, lines.start));
        Self { line, start, value, lines }
    }
}

impl Lines {
    /// Returns the node of `value`, a value of the document. `path` consists of the indexes of the entries and items that
    /// contain it.
    #[must_use]
    pub fn node<'tree>(&'tree self, value: &'tree Value, path: &[usize]) -> Node<'tree> {
        let document = Node { line: 1, start: 1, value, lines: Some(self) }.child(0, value);
        path.iter().fold(document, |node, index| node.child(*index, value))
    }

    /// Adds the lines of an item of a list, or of an entry of a mapping.
    pub(super) fn push(&mut self, line: usize, start: usize) -> &mut Self {
        self.children.push_mut(Self::new(line, start))
    }

    /// Moves the last lines to `index`, because the last entry replaces an earlier one. Returns the line of the replaced entry.
    pub(super) fn replace_with_last(&mut self, index: usize) -> Option<u64> {
        let last = self.children.pop()?;
        let replaced = self.children.get_mut(index)?;
        Some(mem::replace(replaced, last).line)
    }

    /// Sets the lines of the entry `index`. The lines before it that are missing are those of the mapping.
    fn set(&mut self, index: usize, lines: Self) {
        let (line, start) = (self.line, self.line);
        while self.children.len() <= index {
            self.children.push(Self { line, start, children: Vec::new() });
        }
        self.children[index] = lines;
    }

    fn add(&mut self, offset: u64) {
        self.line += offset;
        self.start += offset;
        self.children.iter_mut().for_each(|child| child.add(offset));
    }

    fn new(line: usize, start: usize) -> Self {
        Self { line: line as u64, start: start as u64, children: Vec::new() }
    }
}

/// Merges `new` into `value`. Its depth is limited by the parser.
fn merge(value: &mut Map<String, Value>, lines: &mut Lines, new: Map<String, Value>, new_lines: Lines) {
    let indexes: HashMap<String, usize> = value.keys().enumerate().map(|(index, key)| (key.clone(), index)).collect();
    let line = lines.line;
    let own_line = || Lines { line, start: line, children: Vec::new() };
    let mut new_lines = new_lines.children.into_iter();
    for (key, item) in new {
        let item_lines = new_lines.next().unwrap_or_else(own_line);
        let index = indexes.get(&key).copied().unwrap_or(value.len());
        match (value.get_mut(&key), item) {
            (Some(Value::Object(existing)), Value::Object(item)) => {
                if lines.children.len() <= index {
                    lines.set(index, own_line());
                }
                merge(existing, &mut lines.children[index], item, item_lines);
            }
            (_, item) => {
                lines.set(index, item_lines);
                value.insert(key, item);
            }
        }
    }
}

/// Returns the type of `value` for a message.
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
