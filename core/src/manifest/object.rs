//! Extracts the objects of a document: the document itself, the items of a list, or the object of an admission review.

use serde_json::{Map, Value};

use crate::hint::{is_typo, nearest};
use crate::yaml::type_name;

/// Fields with the type of an object.
const TYPE_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// An object extracted from a document.
#[derive(Debug, PartialEq)]
pub(super) struct Object {
    pub(super) item: Option<usize>,
    pub(super) namespace: Option<String>,
    /// True if it is the object of an admission review.
    pub(super) is_reviewed: bool,
    pub(super) value: Value,
    /// Indexes of the entries and items of the document that contain the object.
    pub(super) path: Vec<usize>,
}

/// Reason why a document contains no object.
#[derive(Debug, PartialEq)]
pub(super) struct ObjectError {
    pub(super) message: String,
    /// True if the document has nothing of an object: it is not a mapping, or has no `apiVersion` and no `kind`.
    pub(super) is_foreign: bool,
    /// Indexes of the entries and items of the document that contain the invalid value.
    pub(super) path: Vec<usize>,
}

/// `apiVersion` and `kind` that items without their own inherit from a list such as `PodList`.
pub(super) type InheritedType<'list> = Option<(&'list str, &'list str)>;

/// Extracts the objects of `document`, in order. An error names the invalid field.
pub(super) fn extract_objects(document: Value) -> Vec<Result<Object, ObjectError>> {
    let mut found = Vec::new();
    collect(document, &mut Vec::new(), None, None, &mut found);
    found
}

/// Extracts the objects of an item of a list. In YAML, its text is a list with one item.
pub(super) fn extract_item(
    value: Value,
    index: usize,
    inherited: InheritedType<'_>,
) -> Vec<Result<Object, ObjectError>> {
    let (value, mut path) = match value {
        Value::Array(mut items) if items.len() == 1 => (items.swap_remove(0), vec![0]),
        other => (other, Vec::new()),
    };
    let mut found = Vec::new();
    collect(value, &mut path, Some(index), inherited, &mut found);
    found
}

/// Adds the objects in `value`, which is at `path`.
fn collect(
    value: Value,
    path: &mut Vec<usize>,
    item: Option<usize>,
    inherited: InheritedType<'_>,
    found: &mut Vec<Result<Object, ObjectError>>,
) {
    let prefix = item.map(|item| format!("items[{item}]: ")).unwrap_or_default();
    let Value::Object(mut object) = value else {
        let message = format!("{prefix}expected a Kubernetes object, found {}", type_name(&value));
        return found.push(Err(ObjectError { message, is_foreign: item.is_none(), path: path.clone() }));
    };
    if let Some((version, kind)) = inherited
        && non_empty_string(&object, "kind").is_none()
    {
        object.insert("apiVersion".to_owned(), version.into());
        object.insert("kind".to_owned(), kind.into());
    }
    if let Err((error, index)) = validate_type(&object) {
        let has_type = TYPE_FIELDS.iter().any(|field| non_empty_string(&object, field).is_some());
        let is_foreign = item.is_none() && !has_type && !misspells_type(&object);
        let path = path.iter().copied().chain(index).collect();
        return found.push(Err(ObjectError { message: prefix + &error, is_foreign, path }));
    }
    let version = non_empty_string(&object, "apiVersion").unwrap_or_default().to_owned();
    let kind = non_empty_string(&object, "kind").unwrap_or_default().to_owned();
    if let Some(item_kind) = kind.strip_suffix("List")
        && let Some(list) = index_of(&object, "items")
        && let Some(items) = object.get_mut("items")
    {
        let inherited = (!item_kind.is_empty()).then_some((version.as_str(), item_kind));
        match items.take() {
            // Nested lists are flattened; item indexes continue.
            Value::Array(items) => {
                for (index, value) in items.into_iter().enumerate() {
                    path.extend([list, index]);
                    collect(value, path, Some(found.len()), inherited, found);
                    path.truncate(path.len() - 2);
                }
            }
            Value::Null => {}
            other => {
                let message = format!("{prefix}`items` of the {kind} is {}: expected a list", type_name(&other));
                path.push(list);
                found.push(Err(ObjectError { message, is_foreign: false, path: path.clone() }));
                path.pop();
            }
        }
    } else if kind == "List" && version == "v1" {
        let mut keys = object.keys().enumerate();
        let near = keys.find(|(_, key)| *key != "kind" && nearest(key, &["items"]).is_some());
        let hint = near.map(|(_, key)| format!(", but it has `{key}`: did you mean items?")).unwrap_or_default();
        let message = format!("{prefix}`items` of the List is missing{hint}");
        let path = path.iter().copied().chain(near.map(|(index, _)| index)).collect();
        found.push(Err(ObjectError { message, is_foreign: false, path }));
    } else if kind == "AdmissionReview" && version == "admission.k8s.io/v1" {
        let reviewed = reviewed_object(object, path, item);
        found.push(reviewed.map_err(|error| ObjectError {
            message: prefix + &error,
            is_foreign: false,
            path: path.clone(),
        }));
    } else {
        let (value, path) = (Value::Object(object), path.clone());
        found.push(Ok(Object { item, namespace: None, is_reviewed: false, value, path }));
    }
}

/// Returns the object of an admission review, which is at `path`.
fn reviewed_object(mut review: Map<String, Value>, path: &[usize], item: Option<usize>) -> Result<Object, String> {
    let request_index = index_of(&review, "request");
    let Some(Value::Object(mut request)) = review.remove("request") else {
        return Err("the AdmissionReview has no `request`: it is a response".to_owned());
    };
    if let Some(operation) = non_empty_string(&request, "operation")
        && operation != "CREATE"
    {
        return Err(format!(
            "the operation of the AdmissionReview is {operation}: the webhook is only called for CREATE"
        ));
    }
    let object_index = index_of(&request, "object");
    let object = match request.remove("object") {
        Some(Value::Object(object)) => object,
        None | Some(Value::Null) => {
            return Err("the AdmissionReview has no `request.object`: use the review of a CREATE operation".to_owned());
        }
        Some(other) => return Err(format!("`request.object` of the AdmissionReview is {}", type_name(&other))),
    };
    validate_type(&object).map_err(|(error, _)| format!("`request.object` of the AdmissionReview: {error}"))?;
    let object_namespace =
        object.get("metadata").and_then(Value::as_object).and_then(|metadata| non_empty_string(metadata, "namespace"));
    let namespace =
        if object_namespace.is_none() { non_empty_string(&request, "namespace").map(str::to_owned) } else { None };
    let path = path.iter().copied().chain(request_index).chain(object_index).collect();
    Ok(Object { item, namespace, is_reviewed: true, value: Value::Object(object), path })
}

/// Returns the index of an entry.
fn index_of(object: &Map<String, Value>, field: &str) -> Option<usize> {
    object.keys().position(|key| key == field)
}

/// Validates that `object` has an `apiVersion` and a `kind`. An error contains the index of the entry with the problem, if there is one.
fn validate_type(object: &Map<String, Value>) -> Result<(), (String, Option<usize>)> {
    for field in TYPE_FIELDS {
        if let Some(value) = object.get(field).filter(|value| !value.is_string() && !value.is_null()) {
            let value = type_name(value);
            let message = format!("not a Kubernetes object: its `{field}` is {value}, not a string");
            return Err((message, index_of(object, field)));
        }
    }
    let missing = match (non_empty_string(object, "apiVersion"), non_empty_string(object, "kind")) {
        (Some(_), Some(_)) => return Ok(()),
        (Some(_), None) => "`kind`",
        (None, Some(_)) => "`apiVersion`",
        (None, None) => "`apiVersion` and no `kind`",
    };
    let mut others = object.keys().enumerate().filter(|(_, key)| !TYPE_FIELDS.contains(&key.as_str()));
    let near = others.find_map(|(index, key)| Some((index, key, nearest(key, &TYPE_FIELDS)?)));
    let hint = near.map(|(_, key, near)| format!(", but `{key}`: did you mean {near}?")).unwrap_or_default();
    let index = near.map(|(index, ..)| index);
    Err((format!("not a Kubernetes object: it has no {missing}{hint}"), index))
}

/// Returns true if `object` has a misspelled `apiVersion` and a misspelled `kind`, each with a value of that field, which files of other
/// programs do not have.
fn misspells_type(object: &Map<String, Value>) -> bool {
    let value_of = |field: &str| object.iter().find(|(key, _)| is_typo(key, field))?.1.as_str();
    value_of("apiVersion").is_some_and(is_api_version) && value_of("kind").is_some_and(is_kind)
}

/// Returns true if `text` has the form of an API version: `v1` or `batch/v1`.
fn is_api_version(text: &str) -> bool {
    let version = text.rsplit_once('/').map_or(text, |(_, version)| version);
    version.strip_prefix('v').is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns true if `text` has the form of a kind: `CronJob`.
fn is_kind(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns a string field that is not empty.
fn non_empty_string<'map>(object: &'map Map<String, Value>, field: &str) -> Option<&'map str> {
    object.get(field).and_then(Value::as_str).filter(|name| !name.is_empty())
}
