//! Notes about common mistakes in workloads.

use serde_json::Value;

use crate::keys;

/// Labels and annotations that affect pods and have no effect on the workload itself.
const POD_KEYS: [&str; 3] = [keys::SIDECAR_INJECT, keys::PROXY_CONFIG, keys::NATIVE_SIDECAR];
/// Returns a note for each label and annotation of Istio on the workload that belongs in its pod templates.
pub(super) fn misplaced_keys(manifest: &Value) -> Vec<String> {
    let templates = templates(manifest);
    let Some(first) = templates.first() else { return Vec::new() };
    ["labels", "annotations"]
        .into_iter()
        .flat_map(|map| {
            let entries = manifest.get("metadata").and_then(|metadata| metadata.get(map)).and_then(Value::as_object);
            entries.into_iter().flat_map(|entries| entries.keys()).map(move |key| (map, key))
        })
        .filter(|(_, key)| POD_KEYS.contains(&key.as_str()))
        .map(|(map, key)| {
            let others = if templates.len() > 1 { " (and of the other pod templates)" } else { "" };
            format!("{key} has no effect in .metadata.{map}: move it to {first}.metadata.{map}{others}")
        })
        .collect()
}

/// Returns true if `manifest` contains a pod template.
pub(super) fn has_pod_template(manifest: &Value) -> bool {
    !templates(manifest).is_empty()
}

/// Returns the paths of the pod templates in `manifest`, as `kubectl explain` writes them.
pub(super) fn templates(manifest: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(spec) = manifest.get("spec") {
        collect(spec, ".spec", &mut found);
    }
    found
}

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let is_template = map.get("spec").and_then(|spec| spec.get("containers")).is_some();
            if is_template {
                found.push(path.to_owned());
                return;
            }
            for (key, item) in map {
                collect(item, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn job(metadata: &Value) -> Value {
        let template = json!({"template": {"spec": {"containers": []}}});
        json!({"metadata": metadata, "spec": {"pytorchReplicaSpecs": {"Master": template, "Worker": template}}})
    }

    #[rstest]
    #[case::nothing(job(&json!({"labels": {"app": "a"}})), &[])]
    #[case::label(
        job(&json!({"labels": {"sidecar.istio.io/inject": "false"}})),
        &["sidecar.istio.io/inject has no effect in .metadata.labels: move it to .spec.pytorchReplicaSpecs.Master.template.metadata.labels (and of the other pod templates)"]
    )]
    #[case::annotation(
        json!({"metadata": {"annotations": {"sidecar.istio.io/nativeSidecar": "true"}}, "spec": {"template": {"spec": {"containers": []}}}}),
        &["sidecar.istio.io/nativeSidecar has no effect in .metadata.annotations: move it to .spec.template.metadata.annotations"]
    )]
    #[case::a_pod_is_its_own_template(json!({"metadata": {"labels": {"sidecar.istio.io/inject": "false"}}, "spec": {"containers": []}}), &[])]
    #[case::in_a_list(
        json!({"metadata": {"labels": {"sidecar.istio.io/inject": "false"}}, "spec": {"tasks": [{"template": {"spec": {"containers": []}}}]}}),
        &["sidecar.istio.io/inject has no effect in .metadata.labels: move it to .spec.tasks[0].template.metadata.labels"]
    )]
    fn misplaced_keys_are_reported(#[case] manifest: Value, #[case] expected: &[&str]) {
        assert_eq!(misplaced_keys(&manifest), *expected);
    }
}
