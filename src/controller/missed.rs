//! Detects pods that the webhook should have changed but was not called for.
//!
//! With failurePolicy `Ignore`, a failed call leaves the pod unchanged without notice. So the controller runs each new
//! pod without the webhook's annotations through the engine. The engine needs the pod as it was before injection,
//! because its changes have no effect afterwards.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::core::Request;
use kube::core::params::GetParams;
use kube::{Client, Resource as _};
use serde_json::Value;

use trainmesh_core::keys;
use trainmesh_core::lifecycle::PodFacts;
use trainmesh_core::mutate::{RuleId, Snapshot, Verdict, draft};
use trainmesh_core::pod::{self, Proxy, ProxyKind};
use trainmesh_core::scope::Mode;

/// Maximum length of the JSON text of a pod that is checked, in bytes. Parsed, it takes up to a hundred times as much
/// memory, and its content is untrusted; real pods have a tenth of this.
const MAX_BYTES: usize = 256 * 1024;

/// Returns true if the webhook, had it been called, would have annotated the pod. `since` is the time at which the
/// current namespace labels were first observed; nothing is known about pods from before.
pub(super) fn is_candidate(facts: &PodFacts, mode: Mode, since: Timestamp) -> bool {
    // Audit mode leaves no annotation.
    let leaves_annotation = mode != Mode::Audit;
    // Creation timestamps are whole seconds.
    let new = facts.created.is_some_and(|created| created.as_second() >= since.as_second());
    // The apiserver's selector keeps opted-out pods from the webhook.
    leaves_annotation && new && !facts.has_webhook_mark && !facts.opted_out && !facts.deleting
}

/// Reads the complete pod; `None` if it is longer than [`MAX_BYTES`].
pub(super) async fn fetch(client: &Client, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
    let request = Request::new(Pod::url_path(&(), Some(namespace)))
        .get(name, &GetParams::default())
        .map_err(kube::Error::BuildRequest)?;
    decode(&client.request_text(request).await?)
}

fn decode(text: &str) -> Result<Option<Value>, kube::Error> {
    if text.len() > MAX_BYTES {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(kube::Error::SerdeError)
}

/// Returns the rules that the webhook would have applied to `pod` and whose effect it lacks.
pub(super) fn missed_rules(pod: &Value, snapshot: &Snapshot<'_>) -> Vec<&'static str> {
    let before = draft(&before_injection(pod), snapshot);
    let pod = pod::Pod::new(pod);
    // A mesh-wide setting may have the same effect as a rule.
    let native = pod.proxy().is_some_and(|proxy| proxy.kind == ProxyKind::Native);
    let held = native || pod.is_gateway() || pod.proxy().is_some_and(Proxy::holds_application);
    let is_satisfied = |rule: RuleId| (rule == RuleId::MeshHold && held) || (rule == RuleId::MeshNative && native);
    let applied =
        before.rules.iter().filter(|decision| decision.outcome == Verdict::Applied && !is_satisfied(decision.rule));
    applied.map(|decision| decision.rule.name()).collect()
}

/// Returns `pod` without what the injector's status annotation lists as added. Without a valid annotation it is
/// unchanged.
fn before_injection(pod: &Value) -> Value {
    let mut pod = pod.clone();
    let Some(annotations) = pod.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else { return pod };
    let status = annotations.remove(keys::SIDECAR_STATUS);
    let status = status.as_ref().and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(status) = status else { return pod };
    for list in ["initContainers", "containers", "volumes"] {
        let Some(added) = status.get(list).and_then(Value::as_array) else { continue };
        if let Some(items) = pod.pointer_mut(&format!("/spec/{list}")).and_then(Value::as_array_mut) {
            items.retain(|item| item.get("name").is_none_or(|name| !added.contains(name)));
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use trainmesh_core::cluster_facts::ClusterView;
    use trainmesh_core::config::Configuration;

    /// Returns a pod that was injected without trainmesh, with these annotations and this lifecycle hook of the proxy.
    fn injected(annotations: &Value, hook: &Value) -> Value {
        let mut pod = json!({
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {
                "initContainers": [{"name": "istio-init"}],
                "containers": [{"name": "istio-proxy", "lifecycle": hook}, {"name": "train"}],
                "volumes": [{"name": "istio-envoy"}, {"name": "data"}],
            },
        });
        let status =
            json!({"initContainers": ["istio-init"], "containers": ["istio-proxy"], "volumes": ["istio-envoy"]});
        pod["metadata"]["annotations"][keys::SIDECAR_STATUS] = status.to_string().into();
        pod
    }

    #[rstest]
    #[case::usual(17 * 1024, true)]
    #[case::longest(MAX_BYTES, true)]
    #[case::too_long(MAX_BYTES + 1, false)]
    fn pods_above_the_limit_are_not_parsed(#[case] length: usize, #[case] expected: bool) {
        let pod = json!({"metadata": {"name": "a"}}).to_string();
        let text = pod.clone() + &" ".repeat(length - pod.len());
        assert_eq!(decode(&text).unwrap().is_some(), expected);
    }

    #[rstest]
    #[case::new(json!({}), Mode::Enabled, true)]
    #[case::audit_mode(json!({}), Mode::Audit, false)]
    #[case::created_before(json!({"creationTimestamp": "2026-01-01T00:00:00Z"}), Mode::Enabled, false)]
    #[case::marked(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}), Mode::Enabled, false)]
    #[case::opted_out(json!({"labels": {"trainmesh.dev/inject": "disabled"}}), Mode::Enabled, false)]
    #[case::being_deleted(json!({"deletionTimestamp": "2026-01-01T00:00:02Z"}), Mode::Enabled, false)]
    fn new_pods_without_annotations_are_candidates(
        #[case] overrides: Value,
        #[case] mode: Mode,
        #[case] expected: bool,
    ) {
        let mut pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:01Z"}});
        for (key, value) in overrides.as_object().unwrap() {
            pod["metadata"][key] = value.clone();
        }
        let facts = PodFacts::read(pod::Pod::new(&pod));
        assert_eq!(is_candidate(&facts, mode, "2026-01-01T00:00:01.5Z".parse().unwrap()), expected);
    }

    #[rstest]
    #[case::no_hold(injected(&json!({}), &json!({})), &["mesh.hold"])]
    #[case::hold_set_by_the_user(
        injected(&json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true"}), &json!({})), &[]
    )]
    #[case::mesh_wide_hold(
        injected(&json!({}), &json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}})), &[]
    )]
    #[case::native(
        json!({"metadata": {"annotations": {keys::SIDECAR_STATUS: r#"{"initContainers":["istio-proxy"]}"#}}, "spec": {
            "initContainers": [{"name": "istio-proxy", "restartPolicy": "Always"}], "containers": [{"name": "train"}],
        }}),
        &[]
    )]
    #[case::grpc_agent(
        injected(&json!({"inject.istio.io/templates": "grpc-agent"}), &json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}})),
        &[]
    )]
    #[case::grpc_agent_behind_the_application(
        json!({"metadata": {"annotations": {"inject.istio.io/templates": "grpc-agent", keys::SIDECAR_STATUS: r#"{"containers":["istio-proxy"]}"#}},
            "spec": {"containers": [{"name": "train"}, {"name": "istio-proxy"}]}}),
        &["mesh.hold"]
    )]
    #[case::gateway(
        json!({"metadata": {"annotations": {keys::SIDECAR_STATUS: r#"{"containers":["istio-proxy"]}"#}},
            "spec": {"containers": [{"name": "istio-proxy"}]}}),
        &[]
    )]
    #[case::windows(
        json!({"metadata": {"annotations": {}}, "spec": {"os": {"name": "windows"}, "containers": [{"name": "a"}]}}), &[]
    )]
    fn missed_rules_are_those_without_effect(#[case] pod: Value, #[case] expected: &[&str]) {
        let labels = BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]);
        let config = Configuration::embedded();
        let snapshot = Snapshot {
            mode: Mode::Enabled,
            namespace: "team-a",
            namespace_labels: &labels,
            labels_assumed: false,
            config: &config,
            config_hash: "",
            replicas: None,
            cluster: ClusterView::default(),
        };
        assert_eq!(missed_rules(&pod, &snapshot), expected);
    }

    #[rstest]
    #[case::new(json!({}), Mode::Enabled, true)]
    #[case::of_istio_aux(json!({}), Mode::IstioAux, true)]
    #[case::audit_mode(json!({}), Mode::Audit, false)]
    #[case::created_before(json!({"creationTimestamp": "2026-01-01T00:00:09Z"}), Mode::Enabled, false)]
    #[case::marked(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}), Mode::Enabled, false)]
    #[case::being_deleted(json!({"deletionTimestamp": "2026-01-01T00:01:00Z"}), Mode::Enabled, false)]
    fn candidates_are_created_within_the_observed_time(
        #[case] metadata: Value,
        #[case] mode: Mode,
        #[case] expected: bool,
    ) {
        let mut pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:10Z"}});
        for (key, value) in metadata.as_object().unwrap() {
            pod["metadata"][key] = value.clone();
        }
        // Within the second of the pod's creation.
        let since = "2026-01-01T00:00:10.7Z".parse().unwrap();
        assert_eq!(is_candidate(&PodFacts::read(pod::Pod::new(&pod)), mode, since), expected);
    }

    #[test]
    fn injected_parts_are_removed() {
        let before = before_injection(&injected(&json!({"team": "a"}), &json!({})));
        let expected = json!({
            "metadata": {"name": "a", "annotations": {"team": "a"}},
            "spec": {"initContainers": [], "containers": [{"name": "train"}], "volumes": [{"name": "data"}]},
        });
        assert_eq!(before, expected);
    }
}
