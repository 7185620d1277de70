//! Composes a JSON value and its lines from the events of the scanner: anchors, merge keys, duplicate keys and limits.

mod budget;
mod entries;

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use serde_json::Value;

use super::duplicates::{DuplicateKey, DuplicateKeys, Duplicates};
use super::error::{Error, MAX_DEPTH};
use super::rejected::Checks;
use super::scalar::Scalar;
use super::tree::Lines;
use budget::Budget;
use entries::{Entries, Replaced};

/// The namespace of the tags that are written with `!!`.
const CORE_TAGS: &str = "tag:yaml.org,2002:";

/// Builds the value of one document.
pub(super) struct Composer<'text> {
    events: Parser<'text, StrInput<'text>>,
    /// Checks of a manifest.
    checks: Option<Checks<'text>>,
    /// Line of the last event.
    line: usize,
    budget: Budget,
    duplicates: Duplicates,
    anchors: HashMap<usize, Value>,
}

impl<'text> Composer<'text> {
    pub(super) fn new(
        events: Parser<'text, StrInput<'text>>,
        checks: Option<Checks<'text>>,
        treatment: DuplicateKeys,
    ) -> Self {
        let (budget, duplicates) = (Budget::default(), Duplicates::new(treatment));
        Self { events, checks, line: 1, budget, duplicates, anchors: HashMap::new() }
    }

    /// Returns the only document and its duplicate keys, and records its lines in `lines` as an item. The lines of the
    /// duplicate keys are unknown without `lines`.
    pub(super) fn document(mut self, lines: Option<&mut Lines>) -> Result<(Value, Vec<DuplicateKey>), Error> {
        let value = self.only_value(lines)?;
        if let Some(checks) = self.checks {
            checks.finish()?;
        }
        Ok((value, self.duplicates.into_found()))
    }

    fn only_value(&mut self, mut lines: Option<&mut Lines>) -> Result<Value, Error> {
        let mut document = None;
        loop {
            match self.next()? {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if document.is_none() => {
                    let event = self.next()?;
                    let lines = lines.as_deref_mut().map(|lines| lines.push(self.line, self.line));
                    document = Some(self.value(event, 0, lines)?);
                }
                Event::StreamEnd => return Ok(document.unwrap_or_default()),
                Event::DocumentStart(true, _) => {
                    self.next()?;
                    return Err(self.error("a second document starts here: expected one document"));
                }
                _ => return Err(self.error("a second document starts here: separate documents with `---`")),
            }
        }
    }

    fn next(&mut self) -> Result<Event<'text>, Error> {
        let Some(next) = self.events.next() else { return Ok(Event::StreamEnd) };
        let (event, span) = next?;
        self.line = span.start.line();
        if let Some(checks) = &mut self.checks {
            checks.pass(&event, &span)?;
        }
        Ok(event)
    }

    fn value(&mut self, event: Event<'text>, depth: usize, lines: Option<&mut Lines>) -> Result<Value, Error> {
        self.budget.count(1, self.line)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = self.scalar(&text, style, tag.as_deref())?;
                let value = match scalar {
                    Scalar::Text => Value::String(text.into_owned()),
                    _ => scalar
                        .into_value("")
                        .ok_or_else(|| self.error(format!("`{text}` cannot be represented in JSON")))?,
                };
                (value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.sequence(self.child_depth(depth)?, lines)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping(self.child_depth(depth)?, lines)?, anchor),
            Event::Alias(id) => (self.alias(id, depth)?, 0),
            _ => return Err(self.error("a value is missing here")),
        };
        if anchor != 0 {
            let copy = self.copy(&value, 0)?;
            self.anchors.insert(anchor, copy);
        }
        Ok(value)
    }

    fn sequence(&mut self, depth: usize, mut lines: Option<&mut Lines>) -> Result<Value, Error> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                event => {
                    let lines = lines.as_deref_mut().map(|lines| lines.push(self.line, self.line));
                    items.push(self.value(event, depth, lines)?);
                }
            }
        }
    }

    fn mapping(&mut self, depth: usize, mut lines: Option<&mut Lines>) -> Result<Value, Error> {
        let mut entries = Entries::default();
        loop {
            let event = self.next()?;
            match event {
                Event::MappingEnd => return Ok(Value::Object(entries.into_map())),
                event if is_merge(&event) => self.merge(&mut entries, depth, lines.as_deref_mut())?,
                event => {
                    let key = self.key(event)?;
                    let line = self.line;
                    let event = self.next()?;
                    let own_lines = lines.as_deref_mut().map(|lines| lines.push(line, self.line));
                    let value = self.value(event, depth, own_lines)?;
                    if let Some(Replaced { key, by_merge }) = entries.set(key, value) {
                        let replaced =
                            lines.as_deref_mut().and_then(|lines| lines.replace_with_last(entries.index(&key)));
                        if !by_merge {
                            self.duplicates.add(key, replaced, line)?;
                        }
                    }
                }
            }
        }
    }

    fn key(&mut self, event: Event<'text>) -> Result<String, Error> {
        self.budget.count(1, self.line)?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = self.scalar(&text, style, tag.as_deref())?;
                if anchor != 0 {
                    let value = scalar.into_value(&*text).unwrap_or_default();
                    let copy = self.copy(&value, 0)?;
                    self.anchors.insert(anchor, copy);
                }
                match scalar {
                    Scalar::Text => Ok(text.into_owned()),
                    _ => scalar.into_key("").map_err(|reason| self.error(reason)),
                }
            }
            Event::Alias(id) => match self.alias(id, 0)? {
                Value::String(text) => Ok(text),
                value @ (Value::Bool(_) | Value::Number(_)) => Ok(value.to_string()),
                _ => Err(self.error("a key must be a scalar")),
            },
            _ => Err(self.error("a key must be a scalar")),
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Scalar, Error> {
        let Some(tag) = tag else {
            return Ok(if style == ScalarStyle::Plain { Scalar::from_plain(text) } else { Scalar::Text });
        };
        let Some(tag) = tag.suffix_in_namespace(CORE_TAGS) else { return Ok(Scalar::Text) };
        if tag == "binary" {
            return Err(self.error("`!!binary` cannot be represented in JSON: write the Base64 text without the tag"));
        }
        let scalar = Scalar::from_plain(text).with_tag(&tag);
        scalar.map_err(|noun| self.error(format!("`{text}` is not {noun}, which its tag `!!{tag}` requires")))
    }

    fn alias(&mut self, id: usize, depth: usize) -> Result<Value, Error> {
        // The scanner resolves an anchor as soon as it opens; `anchors` contains it once its value is complete.
        let Some(value) = self.anchors.remove(&id) else {
            return Err(self.error("the value of the anchor contains an alias of itself"));
        };
        let copy = self.copy(&value, depth);
        self.anchors.insert(id, value);
        copy
    }

    /// Adds the entries that the merge key `<<` refers to. As in go-yaml, which sets keys in the order of the text,
    /// they override the keys before it.
    fn merge(&mut self, entries: &mut Entries, depth: usize, mut lines: Option<&mut Lines>) -> Result<(), Error> {
        let line = self.line;
        let event = self.next()?;
        let by_alias = matches!(event, Event::Alias(_));
        let sources = match self.value(event, depth, None)? {
            Value::Object(source) => vec![Value::Object(source)],
            Value::Array(sources) if !by_alias => sources,
            _ => vec![Value::Null],
        };
        // In a list, the first mapping takes precedence, so it is added last.
        for source in sources.into_iter().rev() {
            let Value::Object(source) = source else {
                return Err(self.error("`<<` takes a mapping or a list of mappings"));
            };
            for (key, value) in source {
                let replaced = entries.merge(key, value);
                if let Some(lines) = &mut lines {
                    lines.push(line, line);
                    if let Some(key) = replaced {
                        lines.replace_with_last(entries.index(&key));
                    }
                }
            }
        }
        Ok(())
    }

    /// Clones `value`, and counts the clone as if the text were repeated at `depth`.
    fn copy(&mut self, value: &Value, depth: usize) -> Result<Value, Error> {
        self.budget.copy(value, depth, self.line)
    }

    fn child_depth(&self, depth: usize) -> Result<usize, Error> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(Error::too_deep(self.line)) }
    }

    fn error(&self, message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(self.line, message.into())
    }
}

fn is_merge(event: &Event<'_>) -> bool {
    let Event::Scalar(text, style, _, tag) = event else { return false };
    let tagged = tag.as_deref().is_some_and(|tag| tag.suffix_in_namespace(CORE_TAGS).as_deref() == Some("merge"));
    text == "<<" && (tagged || tag.is_none() && *style == ScalarStyle::Plain)
}
