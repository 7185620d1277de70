//! The objects that a document carries: itself, the items of a list, or what an admission review is about.

use serde_json::{Map, Value};

use crate::yaml::noun;

/// An object taken out of a document.
#[derive(Debug, PartialEq)]
pub(super) struct Object {
    pub(super) item: Option<usize>,
    pub(super) namespace: Option<String>,
    pub(super) value: Value,
}

/// The `apiVersion` and `kind` that a list such as `PodList` gives to items which name none.
type Inherited<'list> = Option<(&'list str, &'list str)>;

/// Takes the objects out of `document`, in order; an error names the field that is wrong.
pub(super) fn objects(document: Value) -> Vec<Result<Object, String>> {
    let mut found = Vec::new();
    collect(document, None, None, &mut found);
    found
}

fn collect(value: Value, item: Option<usize>, inherited: Inherited<'_>, found: &mut Vec<Result<Object, String>>) {
    let place = item.map(|item| format!("items[{item}]: ")).unwrap_or_default();
    let Value::Object(mut object) = value else {
        let noun = noun(&value);
        return found.push(Err(format!("{place}{noun} stands where a Kubernetes object is expected")));
    };
    if let Some((version, kind)) = inherited
        && name(&object, "kind").is_none()
    {
        object.insert("apiVersion".to_owned(), version.into());
        object.insert("kind".to_owned(), kind.into());
    }
    if let Err(error) = identified(&object) {
        return found.push(Err(place + &error));
    }
    let version = name(&object, "apiVersion").unwrap_or_default().to_owned();
    let kind = name(&object, "kind").unwrap_or_default().to_owned();
    if let Some(item_kind) = kind.strip_suffix("List")
        && let Some(items) = object.get_mut("items")
    {
        let inherited = (!item_kind.is_empty()).then_some((version.as_str(), item_kind));
        match items.take() {
            // A list in a list is flattened and its items are counted on.
            Value::Array(items) => {
                for value in items {
                    collect(value, Some(found.len()), inherited, found);
                }
            }
            Value::Null => {}
            other => found.push(Err(format!("{place}`items` of the {kind} is {}, not a list", noun(&other)))),
        }
    } else if kind == "AdmissionReview" && version == "admission.k8s.io/v1" {
        found.push(reviewed(object, item).map_err(|error| place + &error));
    } else {
        found.push(Ok(Object { item, namespace: None, value: Value::Object(object) }));
    }
}

/// The object that a review is about.
fn reviewed(mut review: Map<String, Value>, item: Option<usize>) -> Result<Object, String> {
    let Some(Value::Object(mut request)) = review.remove("request") else {
        return Err("the AdmissionReview has no `request`: it is an answer".to_owned());
    };
    if let Some(operation) = name(&request, "operation")
        && operation != "CREATE"
    {
        return Err(format!("the AdmissionReview is about {operation}: the webhook is asked at CREATE only"));
    }
    let object = match request.remove("object") {
        Some(Value::Object(object)) => object,
        None | Some(Value::Null) => {
            return Err("the AdmissionReview has no `request.object`: use the review of a CREATE".to_owned());
        }
        Some(other) => return Err(format!("`request.object` of the AdmissionReview is {}", noun(&other))),
    };
    identified(&object).map_err(|error| format!("`request.object` of the AdmissionReview: {error}"))?;
    let own = object.get("metadata").and_then(Value::as_object).and_then(|metadata| name(metadata, "namespace"));
    let namespace = if own.is_none() { name(&request, "namespace").map(str::to_owned) } else { None };
    Ok(Object { item, namespace, value: Value::Object(object) })
}

fn identified(object: &Map<String, Value>) -> Result<(), String> {
    let missing = match (name(object, "apiVersion"), name(object, "kind")) {
        (Some(_), Some(_)) => return Ok(()),
        (Some(_), None) => "`kind`",
        (None, Some(_)) => "`apiVersion`",
        (None, None) => "`apiVersion` and no `kind`",
    };
    Err(format!("not a Kubernetes object: it has no {missing}"))
}

/// A field that holds a name.
fn name<'map>(object: &'map Map<String, Value>, field: &str) -> Option<&'map str> {
    object.get(field).and_then(Value::as_str).filter(|name| !name.is_empty())
}
