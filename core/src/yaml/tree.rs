//! A YAML document as a tree whose every node knows its line, for messages that point at a field.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A node and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The line on which the node starts, counted from 1; of a block mapping, its first key.
    pub line: u64,
    /// What stands there.
    pub content: Content,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean, YAML 1.1 spellings (`yes`, `on`) included, as Kubernetes reads them.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// Any other scalar.
    String(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the order of the text; a key that is no string keeps its spelling.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The line on which the key starts, counted from 1.
    pub line: u64,
    /// The key.
    pub name: String,
}

impl Node {
    /// The value of `key`, when this node is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Content::Map(entries) = &self.content else { return None };
        entries.iter().find(|(found, _)| found.name == key).map(|(_, value)| value)
    }
}

impl Content {
    /// The kind of content in the words of a message.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value: content, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { line: referenced.line(), content })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value: name, referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { line: referenced.line(), name })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Content, D::Error> {
        Content::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        // JSON has no word for infinity; what Kubernetes would refuse anyway is kept as its spelling.
        Ok(serde_json::Number::from_f64(value).map_or_else(|| Content::String(value.to_string()), Content::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Content, E> {
        Ok(Content::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Content::Map(entries))
    }
}
