//! Unknown fields of an operator's kind that are known on another level: `backoffLimit` in `spec` of a `PyTorchJob` instead of
//! `spec.runPolicy`.

use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::PodSpec;
use serde_json::Value;

use super::{Fields, Shape, children};
use crate::hint::nearest;
use crate::known_fields::{Found, MAX_FOUND, Problem, fields_of};
use crate::step::Step;

/// Names of so many objects that they show no level.
const GENERIC: [&str; 17] = [
    "action",
    "annotations",
    "external",
    "key",
    "labels",
    "metadata",
    "mode",
    "name",
    "object",
    "operator",
    "pods",
    "resource",
    "spec",
    "status",
    "template",
    "type",
    "value",
];

/// Adds the fields in `spec`, which has these `fields`, that only another object of the kind has.
pub(super) fn check<'a>(fields: &'static Fields, spec: &'a Value, found: &mut Vec<Found<'a>>) {
    check_object(fields, fields, spec, &mut vec![Step::Key("spec")], found);
}

fn check_object<'a>(
    root: &'static Fields,
    fields: &'static Fields,
    value: &'a Value,
    path: &mut Vec<Step<'a>>,
    found: &mut Vec<Found<'a>>,
) {
    for (key, value) in value.as_object().into_iter().flatten() {
        if found.len() >= MAX_FOUND {
            return;
        }
        path.push(Step::Key(key));
        match fields.nested.iter().find(|(name, _)| name == key).map(|(_, shape)| shape) {
            Some(Shape::Object(inner)) => check_object(root, inner, value, path, found),
            Some(Shape::List(inner) | Shape::Map(inner) | Shape::OpenMap(inner, _)) => {
                for (step, item) in children(value) {
                    path.push(step);
                    check_object(root, inner, item, path, found);
                    path.pop();
                }
            }
            Some(_) => {}
            None => found.extend(problem(root, fields, key, value, path).map(|problem| (path.clone(), problem))),
        }
        path.pop();
    }
}

/// Returns the problem of the field `key`, which is at `path`, if only another object has it. A table without names has only the fields
/// whose types are checked.
fn problem<'a>(
    root: &'static Fields,
    fields: &'static Fields,
    key: &'a str,
    value: &Value,
    path: &[Step<'_>],
) -> Option<Problem<'a>> {
    let is_known = fields.names.is_empty() || fields.names.contains(&key) || nearest(key, fields.names).is_some();
    if is_known || value.is_null() || GENERIC.contains(&key) {
        return None;
    }
    let (_, owner) = path.split_last()?;
    let own = owner.iter().map(Step::to_string).collect::<String>();
    let below = place(fields, key, own.trim_start_matches('.'));
    let known = below.or_else(|| place(root, key, "spec"))?;
    Some(Problem::OtherLevel { owner: fields.owner, name: key, known })
}

/// Returns the path of the field `key` in an object with these `fields`, which is at `path`, or in an object in it: the one that is
/// closest to it.
fn place(fields: &'static Fields, key: &str, path: &str) -> Option<String> {
    let mut level = vec![(fields, path.to_owned())];
    // Tables are trees of a few levels.
    while !level.is_empty() {
        let mut next = Vec::new();
        for (fields, path) in level {
            if fields.names.contains(&key) {
                return Some(format!("{path}.{key}"));
            }
            for (name, shape) in fields.nested {
                let path = format!("{path}.{name}");
                match shape {
                    Shape::Object(inner) | Shape::List(inner) => next.push((*inner, path)),
                    // Any key of the user.
                    Shape::Map(inner) => next.push((*inner, format!("{path}.*"))),
                    Shape::JobTemplate if fields_of::<JobSpec>().contains(&key) => {
                        return Some(format!("{path}.spec.{key}"));
                    }
                    Shape::JobTemplate if fields_of::<PodSpec>().contains(&key) => {
                        return Some(format!("{path}.spec.template.spec.{key}"));
                    }
                    Shape::PodTemplate if fields_of::<PodSpec>().contains(&key) => {
                        return Some(format!("{path}.spec.{key}"));
                    }
                    _ => {}
                }
            }
        }
        level = next;
    }
    None
}
