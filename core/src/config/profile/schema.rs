//! Fields that a profile may state although there is one answer only: they are read, and say nothing.

use schemars::Schema;
use serde_json::{Value, json};

/// Tells an editor that `field` may stand there with the value `only`.
pub(super) fn allow(schema: &mut Schema, field: &str, only: &Value, description: &str) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(field.to_owned(), json!({"const": only, "description": description}));
    }
}
