//! Reads typed fields from a positioned YAML mapping and collects every mistake on the way.
//!
//! A mistake never ends the reading: the field takes its default and the next one is read, so that one run reports
//! all. What is read is used only when nothing was reported.

use super::{Problem, Scalar};
use crate::hint::{nearest, one_of};
use crate::yaml::{Content, Key, Node};

/// A mapping whose fields are being read.
pub(crate) struct Fields<'a> {
    path: String,
    line: u64,
    entries: &'a [(Key, Node)],
    known: Vec<String>,
    problems: &'a mut Vec<Problem>,
}

/// What can stand in a field.
pub(crate) trait Field: Sized {
    /// Reads `content`, which stands at `name`; `None` where it was reported as wrong.
    fn read_at(fields: &mut Fields<'_>, name: &str, line: u64, content: &Content) -> Option<Self>;

    /// Reads the items of the list at `name`; one that was reported as wrong is left out.
    fn read_items(fields: &mut Fields<'_>, name: &str, _: u64, nodes: &[Node]) -> Option<Vec<Self>> {
        let items = nodes.iter().enumerate();
        let read = |(index, node): (usize, &Node)| {
            Self::read_at(fields, &format!("{name}[{index}]"), node.line, &node.content)
        };
        Some(items.filter_map(read).collect())
    }
}

/// A mapping with a fixed set of fields.
pub(crate) trait Section: Sized {
    /// Reads every field of the section. A field that is not asked for here is unknown.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// Reads the whole of `root` by `read`.
pub(crate) fn read_root<T>(root: &Node, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Result<T, Vec<Problem>> {
    let mut problems = Vec::new();
    let line = root.line;
    let Content::Map(entries) = &root.content else {
        let message = format!("expected a mapping, found {}", root.content.noun());
        return Err(vec![Problem { line: Some(line), field: String::new(), message }]);
    };
    let mut fields = Fields { path: String::new(), line, entries, known: Vec::new(), problems: &mut problems };
    let value = read(&mut fields);
    fields.finish();
    problems.sort_by_key(|problem| problem.line);
    value.filter(|_| problems.is_empty()).ok_or(problems)
}

/// What to say of `content` where a list should stand.
pub(crate) fn no_list(content: &Content) -> String {
    format!("expected a list, found {}", content.noun())
}

impl Fields<'_> {
    /// The value of field `name`; `None` where it is absent, null, or was reported as wrong.
    pub(crate) fn get<T: Field>(&mut self, name: &str) -> Option<T> {
        let (line, content) = self.take(name)?;
        T::read_at(self, name, line, content)
    }

    /// The value of field `name`; `default` where it is absent, null, or was reported as wrong.
    pub(crate) fn or<T: Field>(&mut self, name: &str, default: T) -> T {
        self.get(name).unwrap_or(default)
    }

    /// The value of field `name`, which must be there: `expected` says what.
    pub(crate) fn required<T: Field>(&mut self, name: &str, expected: &str) -> Option<T> {
        if !self.has(name) {
            self.known.push(name.to_owned());
            self.report(self.line, name, format!("missing: expected {expected}"));
        }
        self.get(name)
    }

    /// Whether field `name` is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, node)| key.name == name && node.content != Content::Null)
    }

    /// Reports what is wrong with field `name`, on its line, or on the mapping's where it is absent.
    pub(crate) fn fault(&mut self, name: &str, message: String) {
        let found = self.entries.iter().find(|(key, _)| key.name == name);
        let line = found.map_or(self.line, |(key, _)| key.line);
        self.report(line, name, message);
    }

    /// What was read at `name`; `None` where that is an error, which is reported.
    pub(crate) fn checked<T>(&mut self, name: &str, line: u64, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.report(line, name, message)).ok()
    }

    /// Demands that field `name` is there and has the value `expected`.
    pub(crate) fn constant(&mut self, name: &str, expected: &str) {
        match self.take(name) {
            None => self.report(self.line, name, format!("missing: expected {expected}")),
            Some((_, Content::String(found))) if found == expected => {}
            Some((line, Content::String(found))) => {
                self.report(line, name, format!("expected {expected}, found {found:?}"));
            }
            Some((line, other)) => self.report(line, name, format!("expected {expected}, found {}", other.noun())),
        }
    }
}

impl<'a> Fields<'a> {
    /// The line of field `name`, its key's, and its content. Null counts as absent, as in the component
    /// configurations of Kubernetes, whose decoder leaves the default in place.
    fn take(&mut self, name: &str) -> Option<(u64, &'a Content)> {
        self.known.push(name.to_owned());
        let (key, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        (node.content != Content::Null).then_some((key.line, &node.content))
    }

    /// What `read` makes of `content`, which stands at `name`; nothing where it is no mapping.
    pub(crate) fn mapping<T>(
        &mut self,
        name: &str,
        line: u64,
        content: &Content,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        let Content::Map(entries) = content else {
            self.report(line, name, format!("expected a mapping, found {}", content.noun()));
            return None;
        };
        let path = self.path_of(name);
        let mut fields = Fields { path, line, entries, known: Vec::new(), problems: self.problems };
        let value = read(&mut fields);
        fields.finish();
        Some(value)
    }

    /// What `read` makes of each of `nodes`, the items of the list at `name`; one of which it makes nothing is left out.
    pub(crate) fn items<T>(
        &mut self,
        name: &str,
        nodes: &[Node],
        mut read: impl FnMut(&mut Fields<'_>) -> Option<T>,
    ) -> Vec<T> {
        let items = nodes.iter().enumerate().filter_map(|(index, node)| {
            self.mapping(&format!("{name}[{index}]"), node.line, &node.content, &mut read).flatten()
        });
        items.collect()
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn report(&mut self, line: u64, name: &str, message: String) {
        let field = self.path_of(name);
        self.problems.push(Problem { line: Some(line), field, message });
    }

    fn finish(mut self) {
        let known = std::mem::take(&mut self.known);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (key, _) in self.entries {
            if !known.contains(&key.name.as_str()) {
                let message = match nearest(&key.name, &known) {
                    Some(name) => format!("unknown field: did you mean {name}?"),
                    None => format!("unknown field: expected {}", one_of(&known)),
                };
                self.report(key.line, &key.name, message);
            }
        }
    }
}

impl<T: Scalar> Field for T {
    fn read_at(fields: &mut Fields<'_>, name: &str, line: u64, content: &Content) -> Option<Self> {
        fields.checked(name, line, T::read(content))
    }

    fn read_items(fields: &mut Fields<'_>, name: &str, line: u64, nodes: &[Node]) -> Option<Vec<Self>> {
        let item = |(index, node): (usize, &Node)| {
            T::read(&node.content).map_err(|problem| format!("item {}: {problem}", index + 1))
        };
        fields.checked(name, line, nodes.iter().enumerate().map(item).collect())
    }
}

impl<T: Field> Field for Option<T> {
    fn read_at(fields: &mut Fields<'_>, name: &str, line: u64, content: &Content) -> Option<Self> {
        T::read_at(fields, name, line, content).map(Some)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read_at(fields: &mut Fields<'_>, name: &str, line: u64, content: &Content) -> Option<Self> {
        match content {
            Content::List(nodes) => T::read_items(fields, name, line, nodes),
            other => fields.checked(name, line, Err(no_list(other))),
        }
    }
}
