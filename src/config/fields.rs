//! Reads typed fields from a positioned YAML mapping and collects every mistake on the way.
//!
//! A mistake never ends the reading: the field takes its default and the next one is read, so that one run reports
//! all. What is read is used only when nothing was reported.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Period, Problem};
use crate::duration;
use crate::hint::{nearest, one_of};
use crate::yaml::{Content, Key, Node};

/// A mapping whose fields are being read.
pub(crate) struct Fields<'a> {
    path: String,
    line: u64,
    entries: &'a [(Key, Node)],
    known: Vec<&'static str>,
    problems: &'a mut Vec<Problem>,
}

/// A mapping with a fixed set of fields.
pub(crate) trait Section: Default {
    /// Reads every field of the section. A field that is not asked for here is unknown.
    fn read(fields: &mut Fields<'_>) -> Self;
}

/// A field with one value.
pub(crate) trait Scalar: Sized {
    /// Reads a value that is not null, or says what was expected and found.
    fn read(content: &Content) -> Result<Self, String>;
}

/// Reads the whole of `root` by `read`.
pub(crate) fn read_root<T>(root: &Node, read: impl FnOnce(&mut Fields<'_>) -> T) -> Result<T, Vec<Problem>> {
    let mut problems = Vec::new();
    let line = root.position.line;
    let Content::Map(entries) = &root.content else {
        let message = format!("expected a mapping, found {}", root.content.noun());
        return Err(vec![Problem { line: Some(line), field: String::new(), message }]);
    };
    let mut fields = Fields { path: String::new(), line, entries, known: Vec::new(), problems: &mut problems };
    let value = read(&mut fields);
    fields.finish();
    problems.sort_by_key(|problem| problem.line);
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

impl Fields<'_> {
    /// The value of field `name`; `default` where it is absent or null.
    pub(crate) fn scalar<T: Scalar>(&mut self, name: &'static str, default: T) -> T {
        let Some((line, content)) = self.take(name) else { return default };
        T::read(content).unwrap_or_else(|message| {
            self.report(line, name, message);
            default
        })
    }

    /// The section below field `name`; its default where it is absent or null.
    pub(crate) fn section<S: Section>(&mut self, name: &'static str) -> S {
        let Some((line, content)) = self.take(name) else { return S::default() };
        self.mapping(name, line, content, S::read).unwrap_or_default()
    }

    /// The duration of field `name`, within `range`; `default` where it is absent or null.
    pub(crate) fn period(&mut self, name: &'static str, default: Period, range: RangeInclusive<Duration>) -> Period {
        let period = self.scalar(name, default);
        if !range.contains(&period.0) {
            let [least, most] = [range.start(), range.end()].map(|bound| duration::format(*bound));
            self.fault(name, format!("expected {least} to {most}, found {}", duration::format(period.0)));
        }
        period
    }

    /// The value of field `name`, which must be there: `expected` says what.
    pub(crate) fn required<T: Scalar>(&mut self, name: &'static str, expected: &str) -> Option<T> {
        if !self.has(name) {
            self.known.push(name);
            self.report(self.line, name, format!("missing: expected {expected}"));
        }
        self.scalar(name, None)
    }

    /// The items of the list below field `name`, each a mapping that `read` reads; none where it is absent or null. An
    /// item of which `read` has reported that it is none is left out.
    pub(crate) fn list<T>(&mut self, name: &'static str, mut read: impl FnMut(&mut Fields<'_>) -> Option<T>) -> Vec<T> {
        let Some((line, content)) = self.take(name) else { return Vec::new() };
        let Content::List(nodes) = content else {
            self.report(line, name, format!("expected a list, found {}", content.noun()));
            return Vec::new();
        };
        let items = nodes.iter().enumerate().filter_map(|(index, node)| {
            self.mapping(&format!("{name}[{index}]"), node.position.line, &node.content, &mut read).flatten()
        });
        items.collect()
    }

    /// What `read` makes of the mapping below field `name`; nothing where it is absent or null.
    pub(crate) fn below<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        let (line, content) = self.take(name)?;
        self.mapping(name, line, content, read).flatten()
    }

    /// Whether field `name` is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, node)| key.name == name && node.content != Content::Null)
    }

    /// Reports what is wrong with field `name`, on its line, or on the mapping's where it is absent.
    pub(crate) fn fault(&mut self, name: &str, message: String) {
        let found = self.entries.iter().find(|(key, _)| key.name == name);
        let line = found.map_or(self.line, |(key, _)| key.position.line);
        self.report(line, name, message);
    }

    /// Demands that field `name` is there and has the value `expected`.
    pub(crate) fn constant(&mut self, name: &'static str, expected: &str) {
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
    fn take(&mut self, name: &'static str) -> Option<(u64, &'a Content)> {
        self.known.push(name);
        let (key, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        (node.content != Content::Null).then_some((key.position.line, &node.content))
    }

    /// What `read` makes of `content`, which stands at `name`; nothing where it is no mapping.
    fn mapping<T>(
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

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn report(&mut self, line: u64, name: &str, message: String) {
        let field = self.path_of(name);
        self.problems.push(Problem { line: Some(line), field, message });
    }

    fn finish(mut self) {
        for (key, _) in self.entries {
            if !self.known.contains(&key.name.as_str()) {
                let message = match nearest(&key.name, &self.known) {
                    Some(name) => format!("unknown field: did you mean {name}?"),
                    None => format!("unknown field: expected {}", one_of(&self.known)),
                };
                self.report(key.position.line, &key.name, message);
            }
        }
    }
}

impl<T: Scalar> Scalar for Option<T> {
    fn read(content: &Content) -> Result<Self, String> {
        T::read(content).map(Some)
    }
}

impl Scalar for bool {
    fn read(content: &Content) -> Result<Self, String> {
        match content {
            Content::Bool(value) => Ok(*value),
            Content::String(text) if matches!(text.as_str(), "true" | "false") => {
                Err(format!("expected a boolean, found a string: write {text} without quotes"))
            }
            other => Err(format!("expected a boolean, found {}", other.noun())),
        }
    }
}

impl Scalar for String {
    fn read(content: &Content) -> Result<Self, String> {
        match content {
            Content::String(text) => Ok(text.clone()),
            Content::Number(_) | Content::Bool(_) => {
                Err(format!("expected a string, found {}: write it in quotes", content.noun()))
            }
            other => Err(format!("expected a string, found {}", other.noun())),
        }
    }
}

impl Scalar for u64 {
    fn read(content: &Content) -> Result<Self, String> {
        match content {
            Content::Number(number) => {
                number.as_u64().ok_or_else(|| format!("expected a whole number from 0, found {number}"))
            }
            other => Err(format!("expected a whole number, found {}", other.noun())),
        }
    }
}

impl<T: Scalar> Scalar for Vec<T> {
    fn read(content: &Content) -> Result<Self, String> {
        let Content::List(nodes) = content else { return Err(format!("expected a list, found {}", content.noun())) };
        let items = nodes.iter().enumerate();
        items
            .map(|(index, node)| T::read(&node.content).map_err(|problem| format!("item {}: {problem}", index + 1)))
            .collect()
    }
}

impl<K: Scalar + Ord, V: Scalar> Scalar for BTreeMap<K, V> {
    fn read(content: &Content) -> Result<Self, String> {
        let Content::Map(entries) = content else {
            return Err(format!("expected a mapping, found {}", content.noun()));
        };
        let read = |(key, node): &(Key, Node)| {
            let name = K::read(&Content::String(key.name.clone()))?;
            let value = V::read(&node.content).map_err(|problem| format!("{}: {problem}", key.name))?;
            Ok((name, value))
        };
        entries.iter().map(read).collect()
    }
}
