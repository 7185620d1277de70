//! Values of labels and annotations of a workload that are not strings, which the apiserver rejects. Those of pod templates are reported
//! for each pod.

use serde_json::{Map, Value};

use super::InvalidField;
use crate::step::Step;

/// Maximum number of messages. More only repeat the same mistake.
const MAX_MESSAGES: usize = 20;

/// Returns the path of each such value of `object`, and a message that starts with it. With `templates`, the result includes the metadata
/// of the templates of other objects.
pub(super) fn messages(object: &Value, templates: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(object, templates, &mut Vec::new(), &mut found);
    found
}

/// Collects the values in the metadata of `value`, and in that of the objects in it. The depth of a document is limited.
fn collect<'a>(value: &'a Value, templates: bool, path: &mut Vec<Step<'a>>, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            let is_pod_template = fields.get("spec").and_then(|spec| spec.get("containers")).is_some();
            if is_pod_template {
                return;
            }
            for map in ["labels", "annotations"] {
                let entries = fields.get("metadata").and_then(|metadata| metadata.get(map)?.as_object());
                path.extend([Step::Key("metadata"), Step::Key(map)]);
                for (key, value) in entries.into_iter().flat_map(Map::iter) {
                    path.push(Step::Key(key));
                    found.extend(message(path, value).filter(|_| found.len() < MAX_MESSAGES));
                    path.pop();
                }
                path.truncate(path.len() - 2);
            }
            for (key, item) in fields.iter().filter(|(key, _)| templates && *key != "status") {
                path.push(Step::Key(key));
                collect(item, templates, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                collect(item, templates, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns the path of `value` and a message, if it is not a string. The apiserver reads null as an empty string.
fn message(path: &[Step<'_>], value: &Value) -> Option<(String, String)> {
    if value.is_string() || value.is_null() {
        return None;
    }
    let InvalidField { path, found, expected, .. } = InvalidField::new(path, value, "a string");
    let quotes = if value.is_object() || value.is_array() { "" } else { "; quote it" };
    let message =
        format!("{}: the apiserver rejects {found}: expected {expected}{quotes}", path.trim_start_matches('.'));
    Some((path, message))
}
