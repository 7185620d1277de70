//! Values of labels and annotations of a workload that are not strings, and maps of them that are no mappings, which the apiserver
//! rejects. Those of pod templates are reported
//! for each pod.

use serde_json::{Map, Value};

use super::InvalidField;
use super::walk::{Next, is_pod_template, visit_objects};
use crate::step::Step;

/// Expected type of a label or annotation.
const STRING: &str = "a string";
/// Maximum number of messages. More only repeat the same mistake.
const MAX_MESSAGES: usize = 20;

/// Returns the path of each such value of `object`, and a message that starts with it. With `templates`, the result includes the metadata
/// of the templates of other objects.
pub(super) fn messages(object: &Value, templates: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    visit_objects(object, &mut Vec::new(), &mut |path, fields| {
        if is_pod_template(fields) {
            return Next::After;
        }
        let metadata = fields.get("metadata");
        found.extend(misfit(path, &[Step::Key("metadata")], metadata));
        for map in ["labels", "annotations"] {
            let entries = metadata.and_then(|metadata| metadata.get(map));
            found.extend(misfit(path, &[Step::Key("metadata"), Step::Key(map)], entries));
            let entries = entries.and_then(Value::as_object);
            let invalid = entries.into_iter().flat_map(Map::iter).filter(|(_, value)| !is_string(value));
            for (key, value) in invalid.take(MAX_MESSAGES.saturating_sub(found.len())) {
                let steps = [Step::Key("metadata"), Step::Key(map), Step::Key(key)];
                found.push(message(&[path, &steps].concat(), value, STRING));
            }
        }
        if templates && found.len() < MAX_MESSAGES { Next::Inside } else { Next::Stop }
    });
    found
}

/// Returns true for a value that the apiserver reads as a string: null is an empty one.
fn is_string(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

/// Returns the path of `value`, the field at `steps` below `path`, if it is no mapping, and a message.
fn misfit(path: &[Step<'_>], steps: &[Step<'_>], value: Option<&Value>) -> Option<(String, String)> {
    let value = value.filter(|value| !value.is_object() && !value.is_null())?;
    Some(message(&[path, steps].concat(), value, "a mapping"))
}

/// Returns the path of `value`, which is not the `expected` one, and a message.
fn message(path: &[Step<'_>], value: &Value, expected: &str) -> (String, String) {
    let InvalidField { path, found, .. } = InvalidField::new(path, value, expected);
    let is_scalar = !value.is_object() && !value.is_array();
    let quotes = if expected == STRING && is_scalar { "; quote it" } else { "" };
    let message =
        format!("{}: the apiserver rejects {found}: expected {expected}{quotes}", path.trim_start_matches('.'));
    (path, message)
}
