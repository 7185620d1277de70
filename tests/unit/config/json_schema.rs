//! The subset of JSON Schema that the configuration's schema uses.

#![allow(clippy::expect_used, reason = "tests fail by panicking")]

use std::cell::RefCell;
use std::collections::HashMap;

use regex::Regex;
use serde_json::{Value, json};

/// Returns true if `schema` accepts `value`.
pub(crate) fn accepts(schema: &Value, value: &Value) -> bool {
    let type_fits = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| is_a(kind, value)),
        Value::Null => true,
        only => is_a(only, value),
    };
    let variants_fit = ["oneOf", "anyOf"]
        .iter()
        .all(|key| schema[key].as_array().is_none_or(|variants| variants.iter().any(|schema| accepts(schema, value))));
    let value_fits = schema.get("const").is_none_or(|only| only == value)
        && schema["enum"].as_array().is_none_or(|values| values.contains(value))
        && schema.get("not").is_none_or(|schema| !accepts(schema, value));
    let items_fit = match (value.as_array(), schema.get("items")) {
        (Some(items), Some(schema)) => items.iter().all(|item| accepts(schema, item)),
        _ => true,
    };
    type_fits && variants_fit && value_fits && items_fit && fields_fit(schema, value) && bounds_fit(schema, value)
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => kind == "number" || (kind == "integer" && !number.is_f64()),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

fn fields_fit(schema: &Value, value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return true };
    let required = schema["required"].as_array().into_iter().flatten();
    let complete = required.filter_map(Value::as_str).all(|name| fields.contains_key(name));
    let others = schema.get("additionalProperties").unwrap_or(&json!(true)).clone();
    let name_fits = |name: &String| {
        let patterns = schema["patternProperties"].as_object();
        patterns.and_then(|patterns| patterns.iter().find(|(pattern, _)| matches(pattern, name))).map(|found| found.1)
    };
    let fits = |(name, value): (&String, &Value)| match (schema["properties"].get(name), name_fits(name), &others) {
        (None, None, Value::Bool(others)) => *others,
        (Some(schema), _, _) | (None, Some(schema), _) | (None, None, schema) => accepts(schema, value),
    };
    let names_fit =
        schema.get("propertyNames").is_none_or(|schema| fields.keys().all(|name| accepts(schema, &json!(name))));
    complete && names_fit && fields.iter().all(fits)
}

fn bounds_fit(schema: &Value, value: &Value) -> bool {
    let pattern_fits = match (value.as_str(), schema["pattern"].as_str()) {
        (Some(text), Some(pattern)) => matches(pattern, text),
        _ => true,
    };
    let least = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let most = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
    let number_fits = value.as_f64().is_none_or(|number| (least..=most).contains(&number));
    let longest = schema["maxLength"].as_u64();
    let length_fits =
        value.as_str().is_none_or(|text| longest.is_none_or(|longest| text.chars().count() as u64 <= longest));
    pattern_fits && number_fits && length_fits
}

fn matches(pattern: &str, text: &str) -> bool {
    // Compiling a pattern is slow, so each is compiled once for each thread.
    thread_local!(static PATTERNS: RefCell<HashMap<String, Regex>> = RefCell::default());
    PATTERNS.with_borrow_mut(|patterns| {
        let compile = || Regex::new(pattern).expect("valid pattern in the schema");
        patterns.entry(pattern.to_owned()).or_insert_with(compile).is_match(text)
    })
}
