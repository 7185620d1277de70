//! Fields with one value.

use std::collections::BTreeMap;

use crate::yaml::{Content, Key, Node};

/// A field with one value.
pub(crate) trait Scalar: Sized {
    /// Reads a value that is not null, or says what was expected and found.
    fn read(content: &Content) -> Result<Self, String>;
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
