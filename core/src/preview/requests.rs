//! Requests for accelerators outside pod templates: an operator that is not known creates pods from them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::pod::is_accelerator;

/// A request for an accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'manifest> {
    /// Path of the object with the resources, as `kubectl explain` writes it.
    pub(super) path: String,
    /// Name of the resource.
    pub(super) resource: &'manifest str,
}

/// Short name of the accelerators in the resources of `DynamoGraphDeployment`
/// (ai-dynamo/dynamo, `deploy/operator/api/v1alpha1`).
const SHORT_NAME: &str = "gpu";
/// Maximum nesting of the resources. Those of known kinds are in level 6 at most.
const MAX_DEPTH: usize = 20;

/// Returns the first request for an accelerator in the spec of `object`.
pub(super) fn outside_templates(object: &Value) -> Option<Request<'_>> {
    find(object.get("spec")?, &mut "spec".to_owned(), 0)
}

fn find<'manifest>(value: &'manifest Value, path: &mut String, depth: usize) -> Option<Request<'manifest>> {
    if depth == MAX_DEPTH {
        return None;
    }
    if let Some(resource) = value.get("resources").and_then(requested) {
        return Some(Request { path: path.clone(), resource });
    }
    let length = path.len();
    let mut visit = |step: std::fmt::Arguments<'_>, item: &'manifest Value| {
        // Writing to a string cannot fail.
        let _ = path.write_fmt(step);
        let found = find(item, path, depth + 1);
        path.truncate(length);
        found
    };
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, field)| visit(format_args!(".{key}"), field)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| visit(format_args!("[{index}]"), item))
        }
        _ => None,
    }
}

/// Returns the accelerator that `resources` request.
fn requested(resources: &Value) -> Option<&str> {
    let lists = ["limits", "requests"].into_iter().filter_map(|list| resources.get(list)?.as_object());
    let mut names = lists.flatten().filter(|(_, quantity)| !is_zero(quantity)).map(|(name, _)| name.as_str());
    names.find(|name| is_accelerator(name) || *name == SHORT_NAME)
}

fn is_zero(quantity: &Value) -> bool {
    quantity.is_null() || quantity.as_u64() == Some(0) || quantity.as_str() == Some("0")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::workflow(
        json!({"spec": {"templates": [{"name": "a"}, {"container": {"image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}}}]}}),
        Some(("spec.templates[1].container", "nvidia.com/gpu"))
    )]
    #[case::dynamo(
        json!({"spec": {"services": {"worker": {"resources": {"limits": {"gpu": "1"}}, "extraPodSpec": {"mainContainer": {"image": "i"}}}}}}),
        Some(("spec.services.worker", "gpu"))
    )]
    #[case::zero(json!({"spec": {"resources": {"limits": {"nvidia.com/gpu": 0}}}}), None)]
    #[case::cpu(json!({"spec": {"container": {"resources": {"limits": {"cpu": 8}}}}}), None)]
    #[case::outside_the_spec(json!({"status": {"resources": {"limits": {"nvidia.com/gpu": 8}}}}), None)]
    #[case::too_deep(
        json!({"spec": (0..20).fold(json!({"resources": {"limits": {"nvidia.com/gpu": 8}}}), |object, _| json!({"a": object}))}),
        None
    )]
    fn requests_have_their_path(#[case] object: Value, #[case] expected: Option<(&str, &str)>) {
        let found = outside_templates(&object);
        assert_eq!(found.as_ref().map(|request| (request.path.as_str(), request.resource)), expected);
    }
}
