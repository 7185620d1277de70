//! Fields of the kinds of operators and of Istio, outside the specifications of pods, and texts with few values. Their version may
//! have fields and values that are not listed, so that only a name that is similar to a listed one is a problem.

mod other_level;
mod table;
mod types;

pub(super) use types::require_types;

use std::slice;

use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::hint::nearest;
use crate::known_fields::{Found, MAX_FOUND, Problem, unknown_fields_except};
use crate::step::Step;

/// Fields of a type.
struct Fields {
    /// Name of the type in the operator's source.
    owner: &'static str,
    /// Names of all fields.
    names: &'static [&'static str],
    /// Shapes of the fields to check.
    nested: &'static [(&'static str, Shape)],
}

/// Shape of a value.
enum Shape {
    Object(&'static Fields),
    /// A list of objects.
    List(&'static Fields),
    /// Objects by keys that the user chooses.
    Map(&'static Fields),
    /// Objects by keys of which these are known, whatever their case: the operator accepts others, too.
    OpenMap(&'static Fields, &'static [&'static str]),
    /// Any text.
    Text,
    /// Texts by keys that the user chooses.
    Texts,
    /// A list of texts.
    TextList,
    /// A whole number.
    Number,
    /// A whole number, or a text.
    NumberOrText,
    /// A text with few values.
    OneOf(&'static [&'static str]),
    /// A list of texts with few values.
    SomeOf(&'static [&'static str]),
    /// A template of a Job of Kubernetes.
    JobTemplate,
    /// A template of a pod.
    PodTemplate,
}

/// Name of the type whose fields are those of a pod.
pub(super) const POD_SPEC: &str = "PodSpec";

/// Returns true if the fields of `spec` of this kind are known.
pub(super) fn has_table(api_version: &str, kind: &str) -> bool {
    table::spec_of(api_version, kind).is_some()
}

/// Returns the fields of `spec` of a kind, and their values, that are similar to a known one, with their paths.
pub(super) fn misspelled<'a>(api_version: &str, kind: &str, object: &'a Value) -> Vec<Found<'a>> {
    let Some(fields) = table::spec_of(api_version, kind) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec") {
        check_object(fields, spec, &mut vec![Step::Key("spec")], &mut found);
        other_level::check(fields, spec, &mut found);
    }
    found.truncate(MAX_FOUND);
    found
}

fn check_object<'a>(fields: &'static Fields, value: &'a Value, path: &mut Vec<Step<'a>>, found: &mut Vec<Found<'a>>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        if found.len() >= MAX_FOUND {
            return;
        }
        path.push(Step::Key(key));
        if let Some((_, shape)) = fields.nested.iter().find(|(name, _)| name == key) {
            check(shape, value, path, found);
        } else if !fields.names.contains(&key.as_str()) && nearest(key, fields.names).is_some() {
            found.push((path.clone(), Problem::Field { owner: fields.owner, name: key, known: fields.names }));
        }
        path.pop();
    }
}

fn check<'a>(shape: &Shape, value: &'a Value, path: &mut Vec<Step<'a>>, found: &mut Vec<Found<'a>>) {
    match shape {
        Shape::Object(fields) => check_object(fields, value, path, found),
        Shape::List(fields) | Shape::Map(fields) => {
            for (step, value) in children(value) {
                path.push(step);
                check_object(fields, value, path, found);
                path.pop();
            }
        }
        Shape::OpenMap(fields, known) => {
            for (key, value) in value.as_object().into_iter().flatten() {
                path.push(Step::Key(key));
                let is_known = known.iter().any(|name| name.eq_ignore_ascii_case(key));
                if !is_known && nearest(key, known).is_some() {
                    found.push((path.clone(), Problem::OperatorValue { value: key, known }));
                }
                check_object(fields, value, path, found);
                path.pop();
            }
        }
        Shape::OneOf(known) | Shape::SomeOf(known) => {
            let texts = value.as_array().map_or(slice::from_ref(value), Vec::as_slice).iter().filter_map(Value::as_str);
            let unknown = texts.filter(|text| !known.contains(text) && nearest(text, known).is_some());
            found.extend(unknown.map(|value| (path.clone(), Problem::OperatorValue { value, known })));
        }
        Shape::JobTemplate => check_api::<JobTemplateSpec>(value, path, found),
        Shape::PodTemplate => check_api::<PodTemplateSpec>(value, path, found),
        Shape::Text | Shape::Texts | Shape::TextList | Shape::Number | Shape::NumberOrText => {}
    }
}

/// Returns the entries of an object, or the items of a list.
fn children(value: &Value) -> impl Iterator<Item = (Step<'_>, &Value)> {
    let entries = value.as_object().into_iter().flatten().map(|(key, value)| (Step::Key(key), value));
    let items = value.as_array().into_iter().flatten().enumerate();
    entries.chain(items.map(|(index, value)| (Step::Index(index), value)))
}

/// Checks a value that has the type `T` of Kubernetes.
fn check_api<'a, T: DeserializeOwned>(value: &'a Value, path: &[Step<'a>], found: &mut Vec<Found<'a>>) {
    let problems = unknown_fields_except::<T>(value, POD_SPEC);
    found.extend(problems.into_iter().map(|(below, problem)| ([path, &below].concat(), problem)));
}
