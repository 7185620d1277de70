//! Schema of fields with a single valid value, which are accepted but have no effect.

use schemars::Schema;
use serde_json::{Value, json};

/// Adds `field` with the single value `only` to the schema.
pub(super) fn add_constant(schema: &mut Schema, field: &str, only: &Value, description: &str) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(field.to_owned(), json!({"const": only, "description": description}));
    }
}
