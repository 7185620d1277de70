//! Requests for accelerators outside pod templates, and manifests of pods in texts: an operator that is not known creates pods from them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::pod::is_accelerator;
use crate::workload::KINDS;

/// A request for an accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'manifest> {
    /// Path of the object with the resources, as `kubectl explain` writes it.
    pub(super) path: String,
    /// Name of the resource.
    pub(super) resource: &'manifest str,
}

/// A manifest of pods in a text of another object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EmbeddedWorkload {
    /// Path of the text, as `kubectl explain` writes it.
    pub(super) path: String,
    /// Kind of the workload.
    pub(super) kind: &'static str,
}

/// Short name of the accelerators in the resources of `DynamoGraphDeployment`
/// (ai-dynamo/dynamo, `deploy/operator/api/v1alpha1`).
const SHORT_NAME: &str = "gpu";
/// Start of the API versions of Spark's operator.
const SPARK: &str = "sparkoperator.k8s.io/";
/// Actions of a step on an object that exists.
const OF_EXISTING: [&str; 3] = ["get", "delete", "patch"];
/// Maximum nesting of the resources. Those of known kinds are in level 6 at most.
const MAX_DEPTH: usize = 20;

/// Returns the first request for an accelerator in the spec of `object`.
pub(super) fn outside_templates(object: &Value) -> Option<Request<'_>> {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let read = if api_version.starts_with(SPARK) { requested_by_spark } else { requested };
    let (path, resource) = find(object.get("spec")?, &mut "spec".to_owned(), 0, read)?;
    Some(Request { path, resource })
}

/// Returns the first manifest of a workload in the spec of `object`, a Workflow of Argo: the field `resource.manifest`
/// (argoproj/argo-workflows, `pkg/apis/workflow/v1alpha1`).
pub(super) fn embedded_workload(object: &Value) -> Option<EmbeddedWorkload> {
    let kind = |value: &Value| {
        let resource = value.get("resource")?;
        let action = resource.get("action").and_then(Value::as_str).unwrap_or_default();
        let manifest = resource.get("manifest").filter(|_| !OF_EXISTING.contains(&action))?;
        manifest.as_str().and_then(workload_kind)
    };
    let (path, kind) = find(object.get("spec")?, &mut "spec".to_owned(), 0, kind)?;
    Some(EmbeddedWorkload { path: format!("{path}.resource.manifest"), kind })
}

/// Returns the first kind of a workload among the documents in `text`. It is not parsed, because it may be a template: the kind of a
/// document is the first that it contains.
fn workload_kind(text: &str) -> Option<&'static str> {
    let quotes = ['"', '\''];
    text.split("\n---").find_map(|document| {
        let mut fields = document.split(['\n', ',', '{', '}']).filter_map(|field| field.split_once(':'));
        let (_, value) = fields.find(|(key, _)| key.trim().trim_matches(quotes) == "kind")?;
        let value = value.trim().trim_matches(quotes);
        KINDS.iter().map(|workload| workload.kind).find(|kind| *kind == value)
    })
}

/// Returns the first result of `read` for a value in `value`, whose path is `path`, and the path of that value.
fn find<'manifest, T>(
    value: &'manifest Value,
    path: &mut String,
    depth: usize,
    read: impl Fn(&'manifest Value) -> Option<T> + Copy,
) -> Option<(String, T)> {
    if depth == MAX_DEPTH {
        return None;
    }
    if let Some(found) = read(value) {
        return Some((path.clone(), found));
    }
    let length = path.len();
    let mut visit = |step: std::fmt::Arguments<'_>, item: &'manifest Value| {
        // Writing to a string cannot fail.
        let _ = path.write_fmt(step);
        let found = find(item, path, depth + 1, read);
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

/// Returns the accelerator that the resources of `value` request.
fn requested(value: &Value) -> Option<&str> {
    let resources = value.get("resources")?;
    let lists = ["limits", "requests"].into_iter().filter_map(|list| resources.get(list)?.as_object());
    let mut names = lists.flatten().filter(|(_, quantity)| !is_zero(quantity)).map(|(name, _)| name.as_str());
    names.find(|name| is_accelerator(name) || *name == SHORT_NAME)
}

/// Like [`requested`], also for the GPUs of a driver or an executor (kubeflow/spark-operator, `api/v1beta2`, `GPUSpec`).
fn requested_by_spark(value: &Value) -> Option<&str> {
    let gpu = || {
        let name = value.get("name")?.as_str().filter(|name| is_accelerator(name))?;
        value.get("quantity").filter(|quantity| !is_zero(quantity)).map(|_| name)
    };
    requested(value).or_else(gpu)
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
    #[case::spark(
        json!({"apiVersion": "sparkoperator.k8s.io/v1beta2", "spec": {"executor": {"instances": 2, "gpu": {"name": "nvidia.com/gpu", "quantity": 8}}}}),
        Some(("spec.executor.gpu", "nvidia.com/gpu"))
    )]
    #[case::spark_without_gpus(
        json!({"apiVersion": "sparkoperator.k8s.io/v1beta2", "spec": {"executor": {"cores": 2, "gpu": {"name": "nvidia.com/gpu", "quantity": 0}}}}),
        None
    )]
    #[case::name_of_another_kind(
        json!({"apiVersion": "example.com/v1", "spec": {"quota": [{"name": "nvidia.com/gpu", "quantity": 8}]}}), None
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

    #[rstest]
    #[case::block("apiVersion: batch/v1\nkind: Job\nspec: {completions: {{inputs.parameters.n}}}\n", Some("Job"))]
    #[case::quoted("kind: 'PyTorchJob'\n", Some("PyTorchJob"))]
    #[case::json(r#"{"apiVersion":"v1","kind":"Pod","spec":{}}"#, Some("Pod"))]
    #[case::second_document("kind: ConfigMap\n---\nkind: JobSet", Some("JobSet"))]
    #[case::kind_of_a_reference(
        "kind: HorizontalPodAutoscaler\nspec:\n  scaleTargetRef:\n    kind: Deployment\n",
        None
    )]
    #[case::no_pods("apiVersion: v1\nkind: ConfigMap\ndata: {text: a Job}\n", None)]
    #[case::another_field("apiVersion: v1\nkind: ConfigMap\ndata: {mykind: Job}\n", None)]
    fn manifests_in_texts_have_their_path(#[case] manifest: &str, #[case] expected: Option<&str>) {
        let object =
            json!({"spec": {"templates": [{"container": {"image": "i"}}, {"resource": {"manifest": manifest}}]}});
        let found = embedded_workload(&object);
        let expected = expected.map(|kind| ("spec.templates[1].resource.manifest", kind));
        assert_eq!(found.as_ref().map(|found| (found.path.as_str(), found.kind)), expected);
    }

    #[rstest]
    #[case::apply("apply", true)]
    #[case::delete("delete", false)]
    #[case::get("get", false)]
    #[case::patch("patch", false)]
    fn manifests_of_existing_objects_create_no_pods(#[case] action: &str, #[case] expected: bool) {
        let object = json!({"spec": {"templates": [{"resource": {"action": action, "manifest": "kind: Job"}}]}});
        assert_eq!(embedded_workload(&object).is_some(), expected);
    }
}
