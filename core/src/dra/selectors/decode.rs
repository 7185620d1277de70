//! Decodes selectors: each expression is reduced to what it requires, and its text is never kept.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{MAX_EXPRESSION, MAX_SELECTORS, Traits};

/// Field `selectors` of a class or request, reduced while it is decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Selectors(pub(in super::super) Traits);

#[derive(Deserialize)]
struct Selector {
    cel: Option<Cel>,
}

#[derive(Deserialize)]
struct Cel {
    expression: Option<Expression>,
}

/// A single expression.
struct Expression(Traits);

struct SelectorsVisitor;

struct ExpressionVisitor;

impl<'de> Deserialize<'de> for Selectors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(SelectorsVisitor)
    }
}

impl<'de> Visitor<'de> for SelectorsVisitor {
    type Value = Selectors;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of selectors")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut traits = Traits::default();
        for _ in 0..MAX_SELECTORS {
            let Some(selector) = list.next_element::<Selector>()? else { return Ok(Selectors(traits)) };
            if let Some(Expression(other)) = selector.cel.and_then(|cel| cel.expression) {
                // All selectors must be satisfied.
                traits = traits.and(other);
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Selectors(traits))
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ExpressionVisitor)
    }
}

impl Visitor<'_> for ExpressionVisitor {
    type Value = Expression;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an expression")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let is_read = text.len() <= MAX_EXPRESSION;
        Ok(Expression(if is_read { Traits::from_expression(text) } else { Traits::default() }))
    }
}
