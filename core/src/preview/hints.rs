//! Notes about common mistakes in workloads.

use serde_json::Value;

use crate::keys;
use crate::mutate::{Outcome, Reason, RuleId};
use crate::pod::{ContainerKind, Pod};
use crate::workload::RolePod;

/// Labels and annotations that affect pods and have no effect on the workload itself.
const POD_KEYS: [&str; 3] = [keys::SIDECAR_INJECT, keys::PROXY_CONFIG, keys::NATIVE_SIDECAR];
/// Init containers with which operators wait for another pod over the network.
const NETWORK_INIT_CONTAINERS: [&str; 4] = ["grove-initc", "kubectl-delivery", "wait-gcs-ready", "wait-for-master"];
/// Init container that only resolves the name of the master, with `nslookup` (kubeflow/training-operator, pkg/config/config.go).
/// The proxy captures DNS only if [`DNS_CAPTURE`] is set.
const DNS_INIT_CONTAINER: &str = "init-pytorch";
/// Variable of the proxy that captures DNS (istio/istio.io, content/en/docs/ops/configuration/traffic-management/dns-proxy).
const DNS_CAPTURE: &str = "ISTIO_META_DNS_CAPTURE";

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

/// Returns a note if an init container needs the network, which is not available before a classic sidecar starts.
pub(super) fn early_network_use(role: &RolePod, outcome: &Outcome) -> Option<String> {
    let held = outcome.rules.iter().find(|rule| rule.rule == RuleId::MeshHold)?;
    if !matches!(held.reason, Reason::HoldAdded | Reason::HoldAlreadyRequested | Reason::HoldDeclined) {
        return None;
    }
    let name = waits_for_the_network(Pod::new(&role.pod))?;
    Some(format!(
        "init container {name} needs the network before a classic istio-proxy sidecar starts: use native sidecars \
        (mesh.nativeSidecar: prefer)"
    ))
}

/// Returns the name of an init container of `pod` that waits for another pod through a classic sidecar.
fn waits_for_the_network(pod: Pod<'_>) -> Option<&str> {
    if pod.annotation(keys::NATIVE_SIDECAR) == Some("true") {
        return None;
    }
    let captures_dns = pod.annotation(keys::PROXY_CONFIG).is_some_and(|config| config.contains(DNS_CAPTURE));
    let init_container = pod.containers().find(|container| {
        container.kind == ContainerKind::Init
            && (NETWORK_INIT_CONTAINERS.contains(&container.name())
                || captures_dns && container.name() == DNS_INIT_CONTAINER)
    })?;
    Some(init_container.name())
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

    #[rstest]
    #[case::resolves_a_name("init-pytorch", "", false)]
    #[case::resolves_a_captured_name("init-pytorch", "proxyMetadata: {ISTIO_META_DNS_CAPTURE: \"true\"}", true)]
    #[case::connects("wait-gcs-ready", "", true)]
    #[case::another("copy", "", false)]
    fn network_use_before_the_proxy_is_reported(#[case] name: &str, #[case] proxy: &str, #[case] expected: bool) {
        let mut pod = json!({"metadata": {}, "spec": {"containers": [], "initContainers": [{"name": name}]}});
        if !proxy.is_empty() {
            pod["metadata"]["annotations"] = json!({keys::PROXY_CONFIG: proxy});
        }
        assert_eq!(waits_for_the_network(Pod::new(&pod)).is_some(), expected);
    }
}
