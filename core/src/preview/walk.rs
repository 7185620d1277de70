//! Visits the objects in a manifest, with their paths.

use serde_json::{Map, Value};

use crate::step::Step;

/// How a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// With the fields of the object.
    Inside,
    /// After the object.
    After,
    /// Not at all.
    Stop,
}

/// Function that is called for each object, with its path and its fields.
pub(super) type Visitor<'visit, 'a> = &'visit mut dyn FnMut(&[Step<'a>], &'a Map<String, Value>) -> Next;

/// Calls `visit` for `value`, which is at `path`, and for each object in it, the outer ones first, except those in `status`. The depth
/// of a document is limited. Returns [`Next::Stop`] if `visit` does.
pub(super) fn visit_objects<'a>(value: &'a Value, path: &mut Vec<Step<'a>>, visit: Visitor<'_, 'a>) -> Next {
    let is_stopped = match value {
        Value::Object(fields) => match visit(path, fields) {
            Next::Inside => {
                let mut items = fields.iter().filter(|(key, _)| *key != "status");
                items.any(|(key, item)| visit_item(Step::Key(key), item, path, visit))
            }
            next => return next,
        },
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.any(|(index, item)| visit_item(Step::Index(index), item, path, visit))
        }
        _ => false,
    };
    if is_stopped { Next::Stop } else { Next::After }
}

/// Visits an item of the value at `path`. Returns true if the walk stops.
fn visit_item<'a>(step: Step<'a>, item: &'a Value, path: &mut Vec<Step<'a>>, visit: Visitor<'_, 'a>) -> bool {
    // Most values are neither, and a path is only needed for objects.
    if !item.is_object() && !item.is_array() {
        return false;
    }
    path.push(step);
    let next = visit_objects(item, path, visit);
    path.pop();
    next == Next::Stop
}

/// Returns true if an object with `fields` is a pod template.
pub(super) fn is_pod_template(fields: &Map<String, Value>) -> bool {
    fields.get("spec").and_then(|spec| spec.get("containers")).is_some()
}

/// Returns `path` as `kubectl explain` writes it.
pub(super) fn joined(path: &[Step<'_>]) -> String {
    path.iter().map(Step::to_string).collect()
}

/// Returns true if the `spec` of `manifest` contains a pod template.
pub(super) fn has_pod_template(manifest: &Value) -> bool {
    let search = |spec| {
        visit_objects(spec, &mut Vec::new(), &mut |_, fields| {
            if is_pod_template(fields) { Next::Stop } else { Next::Inside }
        })
    };
    manifest.get("spec").map(search) == Some(Next::Stop)
}
