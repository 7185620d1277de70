//! The object of a review as JSON, counted while it is parsed.
//!
//! Counting during parsing bounds the memory itself: what is above the limit is never built.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::ReviewError;

/// The deepest nesting. The deepest field of a Pod is 14 levels down; the rest is for fields to come.
pub(super) const DEPTH: u8 = 64;
/// From this many nodes on lists and maps give back the room that they reserved for more: a list of one item has room for
/// four. Ordinary pods have fewer nodes, and are not slowed down by it.
const COMPACT: u32 = 8_192;
/// Larger maps have less to give back.
const COMPACT_FIELDS: usize = 16;

/// What may still be parsed.
pub(super) struct Nodes {
    limit: u32,
    parsed: Cell<u32>,
    excess: Cell<Option<Excess>>,
}

/// The limit that was exceeded.
#[derive(Clone, Copy)]
enum Excess {
    Nodes,
    Depth,
}

/// One value of the object.
#[derive(Clone, Copy)]
pub(super) struct Node<'n> {
    nodes: &'n Nodes,
    depth: u8,
    place: Place,
}

/// Where a value stands, as far as that decides what is skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Object,
    Metadata,
    Elsewhere,
}

impl Nodes {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, parsed: Cell::new(0), excess: Cell::new(None) }
    }

    /// The limit that was exceeded, if any.
    pub(super) fn excess(&self) -> Option<ReviewError> {
        self.excess.get().map(|excess| match excess {
            Excess::Nodes => ReviewError::TooManyNodes(self.limit),
            Excess::Depth => ReviewError::TooDeep,
        })
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        let parsed = self.parsed.get();
        if parsed == self.limit {
            return Err(self.exceeded(Excess::Nodes));
        }
        self.parsed.set(parsed + 1);
        Ok(())
    }

    fn exceeded<E: Error>(&self, excess: Excess) -> E {
        self.excess.set(Some(excess));
        E::custom("the object is too complex")
    }
}

impl<'n> Node<'n> {
    /// The object itself.
    pub(super) fn object(nodes: &'n Nodes) -> Self {
        Self { nodes, depth: 0, place: Place::Object }
    }

    /// A value at `place` within this one.
    fn below<E: Error>(self, place: Place) -> Result<Self, E> {
        if self.depth == DEPTH {
            return Err(self.nodes.exceeded(Excess::Depth));
        }
        Ok(Self { nodes: self.nodes, depth: self.depth + 1, place })
    }

    fn scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.nodes.count()?;
        Ok(value.into())
    }

    fn compacts(self) -> bool {
        self.nodes.parsed.get() > COMPACT
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.scalar(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.scalar(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        self.nodes.count()?;
        let below = self.below(Place::Elsewhere)?;
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(below)? {
            items.push(item);
        }
        if self.compacts() {
            items.shrink_to_fit();
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.nodes.count()?;
        let below = self.below(Place::Elsewhere)?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = match (self.place, key.as_str()) {
                (Place::Object, "metadata") => map.next_value_seed(Self { place: Place::Metadata, ..below })?,
                // Who wrote which field decides nothing here, and often is the largest part of an object.
                (Place::Metadata, "managedFields") => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => map.next_value_seed(below)?,
            };
            fields.insert(key, value);
        }
        if self.compacts() && fields.len() <= COMPACT_FIELDS {
            let mut exact = Map::with_capacity(fields.len());
            exact.extend(fields);
            fields = exact;
        }
        Ok(Value::Object(fields))
    }
}
