//! A document with the line of each value, for messages that point at a field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::duplicates::DuplicateKey;

/// A document and its lines.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) value: Value,
    /// Keys that replace earlier ones.
    pub(super) duplicates: Vec<DuplicateKey>,
    /// The lines of the text; its only item is the document.
    pub(super) lines: Lines,
}

/// A value of a document and its line. Values repeated by an alias or a merge have the line of the alias or merge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'tree> {
    /// The line of its key, counted from 1; without a key, the line on which it starts.
    pub(crate) line: u64,
    /// The line on which it starts. A block scalar starts on its first line that is not blank.
    pub(crate) start: u64,
    pub(crate) value: &'tree Value,
    lines: Option<&'tree Lines>,
}

/// The recorded lines of a value and of the values in it.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: u64,
    start: u64,
    items: Vec<Self>,
    entries: BTreeMap<String, Self>,
}

impl Tree {
    /// Returns the duplicate keys.
    pub(crate) fn into_duplicates(self) -> Vec<DuplicateKey> {
        self.duplicates
    }

    /// Returns an empty mapping.
    pub(crate) fn empty() -> Self {
        let lines = Lines { items: vec![Lines::new(1, 1)], ..Lines::default() };
        Self { value: Value::Object(Map::new()), duplicates: Vec::new(), lines }
    }

    /// Converts to the value of `key` in a mapping; null if it does not exist.
    pub(crate) fn into_entry(mut self, key: &str) -> Self {
        let value = self.value.get_mut(key).map(Value::take).unwrap_or_default();
        let lines = self.lines.items.first_mut().and_then(|root| root.entries.remove(key));
        Self { value, lines: Lines { items: lines.into_iter().collect(), ..Lines::default() }, ..self }
    }

    /// Adds `offset` to every line.
    pub(crate) fn add_to_lines(&mut self, offset: u64) {
        self.lines.add(offset);
    }

    /// Merges the mapping `other` as Helm merges a later file of values: mappings key by key; anything else replaces the
    /// value. Has no effect if one of the two is not a mapping.
    pub(crate) fn merge(&mut self, mut other: Self) {
        let (Some(lines), Value::Object(value)) = (self.lines.items.first_mut(), &mut self.value) else { return };
        let Value::Object(new) = other.value else { return };
        merge(value, lines, new, other.lines.items.pop().unwrap_or_default());
    }

    pub(crate) fn root(&self) -> Node<'_> {
        Node { line: 1, start: 1, value: &self.value, lines: None }.child(&self.value, self.lines.items.first())
    }
}

impl<'tree> Node<'tree> {
    /// Returns the value of `key`, if this node is a mapping that contains it.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.entry(key, value))
    }

    /// Returns the entries of a mapping in the order of the text.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'tree str, Self)> {
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), self.entry(key, value)))
    }

    /// Returns the items of a list.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.map(move |(index, value)| self.child(value, self.lines.and_then(|lines| lines.items.get(index))))
    }

    /// Returns an item of a list.
    pub(crate) fn item(self, index: usize) -> Option<Self> {
        let value = self.value.as_array()?.get(index)?;
        Some(self.child(value, self.lines.and_then(|lines| lines.items.get(index))))
    }

    fn entry(self, key: &str, value: &'tree Value) -> Self {
        self.child(value, self.lines.and_then(|lines| lines.entries.get(key)))
    }

    fn child(self, value: &'tree Value, lines: Option<&'tree Lines>) -> Self {
        let (line, start) = lines.map_or((self.line, self.line), |lines| (lines.line, lines.start));
        Self { line, start, value, lines }
    }
}

impl Lines {
    /// Adds an item of a list.
    pub(super) fn push_item(&mut self, line: usize) -> &mut Self {
        self.items.push_mut(Self::new(line, line))
    }

    /// Adds an entry of a mapping, or replaces it.
    pub(super) fn insert_entry(&mut self, key: &str, line: usize, start: usize) -> &mut Self {
        let entry = self.entries.entry(key.to_owned()).or_default();
        *entry = Self::new(line, start);
        entry
    }

    /// Returns the line of an entry's key.
    pub(super) fn line_of(&self, key: &str) -> Option<u64> {
        self.entries.get(key).map(|entry| entry.line)
    }

    fn add(&mut self, offset: u64) {
        self.line += offset;
        self.start += offset;
        self.items.iter_mut().chain(self.entries.values_mut()).for_each(|inner| inner.add(offset));
    }

    fn new(line: usize, start: usize) -> Self {
        Self { line: line as u64, start: start as u64, ..Self::default() }
    }
}

/// Merges `new` into `value`. Its depth is limited by the parser.
fn merge(value: &mut Map<String, Value>, lines: &mut Lines, new: Map<String, Value>, mut new_lines: Lines) {
    let line = lines.line;
    for (key, item) in new {
        let item_lines = new_lines.entries.remove(&key);
        match (value.get_mut(&key), item) {
            (Some(Value::Object(existing)), Value::Object(item)) => {
                let inner = lines.entries.entry(key).or_insert_with(|| Lines { line, start: line, ..Lines::default() });
                merge(existing, inner, item, item_lines.unwrap_or_default());
            }
            (_, item) => {
                match item_lines {
                    Some(item_lines) => lines.entries.insert(key.clone(), item_lines),
                    None => lines.entries.remove(&key),
                };
                value.insert(key, item);
            }
        }
    }
}

/// Returns the type of `value` for a message.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
