//! Parses the object of a review into JSON and counts its nodes.
//!
//! Counting during parsing bounds memory: nodes above the limit are never allocated.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::ReviewError;

/// Maximum nesting. The deepest field of a Pod is at level 14; the rest is for future fields.
pub(super) const MAX_DEPTH: u8 = 64;
/// Number of nodes above which lists and maps release spare capacity: a list of one item has capacity for four.
/// Ordinary pods have fewer nodes and do not incur the cost.
const COMPACT_THRESHOLD: u32 = 8_192;
/// Maximum size of a map that is compacted. Larger maps have relatively little spare capacity.
const MAX_COMPACTED_FIELDS: usize = 16;

/// Limit on the nodes of an object, and the number parsed so far.
pub(super) struct NodeBudget {
    limit: u32,
    parsed: Cell<u32>,
    exceeded: Cell<Option<Limit>>,
}

/// Limits on an object.
#[derive(Clone, Copy)]
enum Limit {
    Nodes,
    Depth,
}

/// Deserializes a value of the object.
#[derive(Clone, Copy)]
pub(super) struct NodeSeed<'n> {
    budget: &'n NodeBudget,
    depth: u8,
    location: Location,
}

/// Location of a value, which determines the fields to skip.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Object,
    Metadata,
    Elsewhere,
}

impl NodeBudget {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, parsed: Cell::new(0), exceeded: Cell::new(None) }
    }

    /// Returns an error if a limit was exceeded.
    pub(super) fn limit_error(&self) -> Option<ReviewError> {
        self.exceeded.get().map(|limit| match limit {
            Limit::Nodes => ReviewError::TooManyNodes(self.limit),
            Limit::Depth => ReviewError::TooDeep,
        })
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        let parsed = self.parsed.get();
        if parsed == self.limit {
            return Err(self.exceed(Limit::Nodes));
        }
        self.parsed.set(parsed + 1);
        Ok(())
    }

    fn exceed<E: Error>(&self, limit: Limit) -> E {
        self.exceeded.set(Some(limit));
        E::custom("the object is too complex")
    }
}

impl<'n> NodeSeed<'n> {
    /// Returns the seed of the root of the object.
    pub(super) fn root(budget: &'n NodeBudget) -> Self {
        Self { budget, depth: 0, location: Location::Object }
    }

    /// Returns the seed of a child at `location`.
    fn child<E: Error>(self, location: Location) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(self.budget.exceed(Limit::Depth));
        }
        Ok(Self { budget: self.budget, depth: self.depth + 1, location })
    }

    fn scalar<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.budget.count()?;
        Ok(value.into())
    }

    fn should_compact(self) -> bool {
        self.budget.parsed.get() > COMPACT_THRESHOLD
    }
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
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
        self.budget.count()?;
        let child = self.child(Location::Elsewhere)?;
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(child)? {
            items.push(item);
        }
        if self.should_compact() {
            items.shrink_to_fit();
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.budget.count()?;
        let child = self.child(Location::Elsewhere)?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = match (self.location, key.as_str()) {
                (Location::Object, "metadata") => {
                    map.next_value_seed(Self { location: Location::Metadata, ..child })?
                }
                // No decision depends on managedFields, which is often the largest part of an object.
                (Location::Metadata, "managedFields") => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => map.next_value_seed(child)?,
            };
            fields.insert(key, value);
        }
        if self.should_compact() && fields.len() <= MAX_COMPACTED_FIELDS {
            let mut compact = Map::with_capacity(fields.len());
            compact.extend(fields);
            fields = compact;
        }
        Ok(Value::Object(fields))
    }
}
