//! JSON Schema of the configuration, for editors and CI.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use super::document::Document;

/// Generates the JSON Schema (draft 2020-12) of a configuration file. `config/schema.json` contains its output.
///
/// The schema is as strict as the parser. Its descriptions are the doc comments of the types.
#[must_use]
pub fn schema() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<Document<'_>>();
    allow_null(&mut schema);
    schema.into()
}

/// Allows null in fields with a default. The parser treats it as the default.
fn allow_null(schema: &mut Schema) {
    transform_subschemas(&mut allow_null, schema);
    if schema.get("default").is_none() {
        return;
    }
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(variants) = schema.get_mut(key).and_then(Value::as_array_mut) {
            variants.push(json_schema!({"type": "null"}).into());
        }
    }
}
