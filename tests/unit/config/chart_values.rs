//! Values of the chart: `config validate` and the chart's schema agree about the values that may be null.

use serde_json::{Value, json};
use trainmesh_core::config::parse_values;

const SCHEMA: &str = include_str!("../../../charts/trainmesh/values.schema.json");

/// Calls `check` for each property of `schema`, except for those of the configuration.
fn visit(schema: &Value, path: &[&str], check: &mut impl FnMut(&[&str], bool)) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = [path, &[name.as_str()]].concat();
        let is_required = schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
        check(&path, is_required);
        if path != ["config"] {
            visit(property, &path, check);
        }
    }
}

#[test]
fn required_values_must_not_be_null() {
    let mut count = 0;
    visit(&serde_json::from_str(SCHEMA).unwrap(), &[], &mut |path, is_required| {
        let values = path.iter().rev().fold(Value::Null, |value, name| json!({*name: value}));
        let problems = parse_values(&[values.to_string()]).err().unwrap_or_default();
        let fields: Vec<&str> = problems.iter().map(|(_, problem)| problem.field.as_str()).collect();
        let field = path.join(".");
        assert_eq!(fields, Vec::from_iter(is_required.then_some(field.as_str())), "{field}");
        count += usize::from(is_required);
    });
    assert!(count > 100, "{count}");
}
