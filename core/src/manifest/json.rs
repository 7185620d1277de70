//! Parses JSON documents with the same limits, number conversion and duplicate key check as YAML.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::yaml::{self, MAX_NODES};

/// Parses a JSON value. `serde_json` limits the depth to 128 levels.
pub(super) fn parse(text: &str) -> Result<Value, yaml::Error> {
    let nodes = Cell::new(0);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = ValueSeed { nodes: &nodes }.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.map_err(|error| yaml::Error { line: error.line() as u64, message: message(&error) })
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

/// Deserializes a value; all values of a document share the node count.
struct ValueSeed<'count> {
    nodes: &'count Cell<usize>,
}

impl ValueSeed<'_> {
    fn count_node<E: serde::de::Error>(&self) -> Result<(), E> {
        self.nodes.set(self.nodes.get() + 1);
        if self.nodes.get() > MAX_NODES {
            return Err(E::custom(format_args!("more than the limit of {MAX_NODES} nodes")));
        }
        Ok(())
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
        yaml::number(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(ValueSeed { nodes: self.nodes })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.count_node()?;
            if entries.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key {key:?}")));
            }
            let value = access.next_value_seed(ValueSeed { nodes: self.nodes })?;
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}
