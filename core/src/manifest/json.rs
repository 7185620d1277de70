//! Parses JSON documents with the same limits, number conversion and treatment of duplicate keys as YAML.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::yaml::{self, DuplicateKey, DuplicateKeys, MAX_DUPLICATES, MAX_NODES, SPLIT_ADVICE};

/// Parses a JSON value. `serde_json` limits the depth to 128 levels. Also returns the keys that replace equal ones in
/// their object, up to a limit.
pub(super) fn parse(text: &str) -> Result<(Value, Vec<DuplicateKey>), yaml::Error> {
    let state = State::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let value = ValueSeed { state: &state }.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    let value = value.map_err(|error| yaml::Error { line: error.line() as u64, message: message(&error) })?;
    let keys = state.duplicates.into_inner();
    Ok((value, if keys.is_empty() { Vec::new() } else { located(text, keys) }))
}

/// Finds the lines of `keys`. The YAML reader, which records lines, reads most JSON in the same way, but not all.
fn located(text: &str, keys: Vec<String>) -> Vec<DuplicateKey> {
    match yaml::parse_tree(text, DuplicateKeys::LastWins) {
        Ok(tree) => tree.into_parts().1,
        Err(_) => keys.into_iter().map(|key| DuplicateKey { key, lines: None }).collect(),
    }
}

/// Returns the message of an error without the position.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(_) if text.starts_with("recursion limit") => "nested deeper than the limit of 128 levels".to_owned(),
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Counts of a document, which all its values share.
#[derive(Default)]
struct State {
    nodes: Cell<usize>,
    /// Duplicate keys.
    duplicates: RefCell<Vec<String>>,
}

/// Deserializes a value.
#[derive(Clone, Copy)]
struct ValueSeed<'state> {
    state: &'state State,
}

impl ValueSeed<'_> {
    fn count_node<E: serde::de::Error>(self) -> Result<(), E> {
        let nodes = &self.state.nodes;
        nodes.set(nodes.get() + 1);
        if nodes.get() > MAX_NODES {
            return Err(E::custom(format_args!("more than the limit of {MAX_NODES} values: {SPLIT_ADVICE}")));
        }
        Ok(())
    }

    fn add_duplicate(self, key: &str) {
        let mut duplicates = self.state.duplicates.borrow_mut();
        if duplicates.len() < MAX_DUPLICATES {
            duplicates.push(key.to_owned());
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count_node()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        yaml::json_number(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.count_node()?;
            if entries.contains_key(&key) {
                self.add_duplicate(&key);
            }
            let value = access.next_value_seed(self)?;
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}
