//! The pod templates of a component: those that it declares, or else those of the kinds that the controller supports.

use serde_json::Value;

use crate::workload::RenderError;
use crate::workload::template::Field;

/// Returns JSON pointers to the pod templates in `object`, the manifest of `component`.
pub(super) fn pod_sets(component: &Field<'_>, object: &Value) -> Result<Vec<String>, RenderError> {
    let declared = component.get("podSets").items()?;
    if declared.is_empty() {
        return Ok(inferred_pointers(object));
    }
    declared.iter().map(|pod_set| declared_pointer(&pod_set.get("path"))).collect()
}

/// Converts a path such as `template.spec.tasks[0].template`.
fn declared_pointer(path: &Field<'_>) -> Result<String, RenderError> {
    let invalid = || path.invalid("a path to a pod template, such as template.spec.template");
    let below = path.required_text()?.strip_prefix("template").ok_or_else(invalid)?;
    let mut pointer = String::new();
    for part in below.split('.') {
        let mut indexes = part.split('[');
        let key = indexes.next().unwrap_or_default();
        if !key.is_empty() {
            pointer.push('/');
            pointer += &key.replace('~', "~0").replace('/', "~1");
        }
        for index in indexes {
            let index = index.strip_suffix(']').filter(|index| index.parse::<usize>().is_ok()).ok_or_else(invalid)?;
            pointer.push('/');
            pointer += index;
        }
    }
    Ok(pointer)
}

/// Returns JSON pointers to the pod templates of a kind that the controller supports.
fn inferred_pointers(object: &Value) -> Vec<String> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let pointers = match (text("apiVersion"), text("kind")) {
        ("v1", "Pod") => vec![String::new()],
        ("batch/v1", "Job") | ("apps/v1", "Deployment" | "StatefulSet") => vec!["/spec/template".to_owned()],
        ("jobset.x-k8s.io/v1alpha2", "JobSet") => {
            item_pointers(object, "/spec/replicatedJobs", "/template/spec/template")
        }
        ("kubeflow.org/v1", "PyTorchJob") => {
            ["Master", "Worker"].map(|role| format!("/spec/pytorchReplicaSpecs/{role}/template")).into()
        }
        ("ray.io/v1", "RayCluster") => ray_templates(object, "/spec"),
        ("ray.io/v1", "RayJob") => ray_templates(object, "/spec/rayClusterSpec"),
        _ => Vec::new(),
    };
    pointers.into_iter().filter(|pointer| object.pointer(pointer).is_some()).collect()
}

fn ray_templates(object: &Value, cluster: &str) -> Vec<String> {
    let head = format!("{cluster}/headGroupSpec/template");
    let workers = item_pointers(object, &format!("{cluster}/workerGroupSpecs"), "/template");
    [head].into_iter().chain(workers).collect()
}

fn item_pointers(object: &Value, list: &str, field: &str) -> Vec<String> {
    let count = object.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
    (0..count).map(|index| format!("{list}/{index}{field}")).collect()
}
