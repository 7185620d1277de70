//! Parses the typed fields of a YAML mapping with line numbers, and collects all problems.
//!
//! A problem does not stop parsing: the field gets its default value, so that one run reports all problems. The result
//! is used only if there are none.

use serde_json::Value;

use super::scalar::expected_mapping;
use super::{Problem, Scalar, problem};
use crate::hint::{nearest, one_of};
use crate::yaml::{Node, type_name};

/// A mapping whose fields are being read.
pub(crate) struct Fields<'a> {
    path: String,
    node: Node<'a>,
    known: Vec<String>,
    problems: &'a mut Vec<Problem>,
    /// Number of problems before those of this mapping.
    first: usize,
}

/// A type that a field can have.
pub(crate) trait Field: Sized {
    /// Parses `node`, the value of field `name`. Returns `None` if it is invalid; the problem is recorded.
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self>;

    /// Parses the items of the list `name`. Invalid items are recorded and left out.
    fn read_items(fields: &mut Fields<'_>, name: &str, list: Node<'_>) -> Option<Vec<Self>> {
        let items = list.items().enumerate();
        let read = |(index, item)| Self::read_at(fields, &format!("{name}[{index}]"), item);
        Some(items.filter_map(read).collect())
    }
}

/// A mapping with a fixed set of fields.
pub(crate) trait Section: Sized {
    /// Parses all fields of the section. A field that this function does not request is reported as unknown.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// Parses `root` with `read`. Returns all problems, sorted by line.
pub(crate) fn read_root<T>(root: Node<'_>, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Result<T, Vec<Problem>> {
    let mut problems = Vec::new();
    if !root.value.is_object() {
        let message = expected_mapping(root.value);
        return Err(vec![Problem { line: Some(root.line), field: String::new(), message }]);
    }
    let mut fields = Fields { path: String::new(), node: root, known: Vec::new(), problems: &mut problems, first: 0 };
    let value = read(&mut fields);
    fields.finish();
    problem::sort(&mut problems);
    value.filter(|_| problems.is_empty()).ok_or(problems)
}

/// Returns the error for `value` in place of a list.
pub(crate) fn expected_list(value: &Value) -> String {
    format!("expected a list, found {}", type_name(value))
}

impl Fields<'_> {
    /// Returns the value of field `name`; `None` if it is absent, null or invalid.
    pub(crate) fn get<T: Field>(&mut self, name: &str) -> Option<T> {
        let node = self.take(name)?;
        T::read_at(self, name, node)
    }

    /// Returns the value of field `name`; `default` if it is absent, null or invalid.
    pub(crate) fn get_or<T: Field>(&mut self, name: &str, default: T) -> T {
        self.get(name).unwrap_or(default)
    }

    /// Returns the value of field `name`. If it is absent, records that `expected` is missing.
    pub(crate) fn require<T: Field>(&mut self, name: &str, expected: &str) -> Option<T> {
        if !self.has(name) {
            self.known.push(name.to_owned());
            self.report(self.node.line, name, format!("missing: expected {expected}"));
        }
        self.get(name)
    }

    /// Returns true if field `name` is present and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.node.get(name).is_some_and(|node| !node.value.is_null())
    }

    /// Returns true if a problem with field `name` or a part of it is recorded. The value is then incomplete, so that others
    /// cannot be compared with it.
    pub(crate) fn has_problem(&self, name: &str) -> bool {
        let path = self.path_of(name);
        let is_inside = |problem: &Problem| {
            problem.field.strip_prefix(&*path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.problems.iter().skip(self.first).any(is_inside)
    }

    /// Returns the string in field `name`, whether or not it is valid.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.node.get(name)?.value.as_str()
    }

    /// Returns true if field `name` is absent, but another field is a misspelling of it.
    pub(crate) fn is_misspelled(&self, name: &str) -> bool {
        !self.has(name) && self.node.entries().any(|(key, _)| key != name && nearest(key, &[name]).is_some())
    }

    /// Records a problem with field `name`, at its line, or at the line of the mapping if the field is absent.
    pub(crate) fn report_problem(&mut self, name: &str, message: String) {
        let node = self.node.get(name).unwrap_or(self.node);
        self.report(node.line, name, message);
    }

    /// Records a problem with field `name` of item `index` of `list`, at its line, or at that of the item if the field is absent.
    pub(crate) fn report_item(&mut self, list: &str, index: usize, name: &str, message: String) {
        let item = self.at(list).and_then(|node| node.item(index)).unwrap_or(self.node);
        let line = item.get(name).unwrap_or(item).line;
        self.report(line, &format!("{list}[{index}].{name}"), message);
    }

    /// Returns the value at `name`; `None` for an error, which is recorded.
    pub(crate) fn record_error<T>(&mut self, name: &str, line: u64, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.report(line, name, message)).ok()
    }

    /// Records a problem unless field `name` has the value `expected`.
    pub(crate) fn require_constant(&mut self, name: &str, expected: &str) {
        let Some(node) = self.take(name) else {
            return self.report(self.node.line, name, format!("missing: expected {expected}"));
        };
        match node.value {
            Value::String(found) if found == expected => {}
            Value::String(found) => self.report(node.line, name, format!("expected {expected}, found {found:?}")),
            other => self.report(node.line, name, format!("expected {expected}, found {}", type_name(other))),
        }
    }
}

impl<'a> Fields<'a> {
    /// Returns the strings in field `name` of the items of `list`, whether or not the items are valid; `None` for an item without.
    pub(crate) fn texts(&self, list: &str, name: &str) -> Vec<Option<&'a str>> {
        let items = self.at(list).and_then(|node| node.value.as_array()).into_iter().flatten();
        items.map(|item| item.get(name)?.as_str()).collect()
    }

    /// Returns the value at `path`: names of fields, separated by dots.
    fn at(&self, path: &str) -> Option<Node<'a>> {
        path.split('.').try_fold(self.node, Node::get)
    }

    /// Returns field `name` and marks it as known. Null counts as absent, as in the component configurations of
    /// Kubernetes, whose decoder leaves the default in place.
    fn take(&mut self, name: &str) -> Option<Node<'a>> {
        self.known.push(name.to_owned());
        self.node.get(name).filter(|node| !node.value.is_null())
    }

    /// Passes the mapping `node`, the value of `name`, to `read`; records an error if it is not a mapping.
    pub(crate) fn mapping<T>(
        &mut self,
        name: &str,
        node: Node<'_>,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        if !node.value.is_object() {
            self.report(node.line, name, expected_mapping(node.value));
            return None;
        }
        let path = self.path_of(name);
        let first = self.problems.len();
        let mut fields = Fields { path, node, known: Vec::new(), problems: self.problems, first };
        let value = read(&mut fields);
        fields.finish();
        Some(value)
    }

    /// Passes each item of `list`, the value of `name`, to `read`, and leaves out the items for which it returns
    /// `None`.
    pub(crate) fn items<T>(
        &mut self,
        name: &str,
        list: Node<'_>,
        mut read: impl FnMut(&mut Fields<'_>) -> Option<T>,
    ) -> Vec<T> {
        let items = list.items().enumerate();
        items.filter_map(|(index, item)| self.mapping(&format!("{name}[{index}]"), item, &mut read).flatten()).collect()
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn report(&mut self, line: u64, name: &str, message: String) {
        let field = self.path_of(name);
        self.problems.push(Problem { line: Some(line), field, message });
    }

    fn finish(mut self) {
        let requested = std::mem::take(&mut self.known);
        let mut known: Vec<&str> = Vec::with_capacity(requested.len());
        // A parser may request a field twice, for example to decide about another one.
        for name in &requested {
            if !known.contains(&name.as_str()) {
                known.push(name);
            }
        }
        for (key, node) in self.node.entries() {
            if !known.contains(&key) {
                let message = match nearest(key, &known) {
                    Some(name) => format!("unknown field: did you mean {name}?"),
                    None => format!("unknown field: expected {}", one_of(&known)),
                };
                self.report(node.line, key, message);
            }
        }
    }
}

impl<T: Scalar> Field for T {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        fields.record_error(name, node.line, T::read(node.value))
    }

    fn read_items(fields: &mut Fields<'_>, name: &str, list: Node<'_>) -> Option<Vec<Self>> {
        let (mut read, mut count) = (Vec::new(), 0);
        for item in list.items() {
            count += 1;
            let value = T::read(item.value).map_err(|problem| format!("item {count}: {problem}"));
            read.extend(fields.record_error(name, item.line, value));
        }
        (read.len() == count).then_some(read)
    }
}

impl<T: Field> Field for Option<T> {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        T::read_at(fields, name, node).map(Some)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read_at(fields: &mut Fields<'_>, name: &str, node: Node<'_>) -> Option<Self> {
        match node.value {
            Value::Array(_) => T::read_items(fields, name, node),
            other => fields.record_error(name, node.line, Err(expected_list(other))),
        }
    }
}
