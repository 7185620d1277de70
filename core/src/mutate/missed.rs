//! Rules whose effect a pod lacks because the webhook was not called for it.
//!
//! The engine needs the pod as it was before injection, because on an injected pod most rules have no effect.

use serde_json::Value;

use super::{RuleId, Snapshot, Verdict, draft};
use crate::keys;
use crate::pod::{self, Proxy, ProxyKind};

/// Returns the rules that the webhook would have applied to `pod` and whose effect it lacks.
#[must_use]
pub fn missed_rules(pod: &Value, snapshot: &Snapshot<'_>) -> Vec<RuleId> {
    let before = draft(&before_injection(pod), snapshot);
    let pod = pod::Pod::new(pod);
    // A mesh-wide setting may have the same effect as a rule.
    let native = pod.proxy().is_some_and(|proxy| proxy.kind == ProxyKind::Native);
    let held = native || pod.is_gateway() || pod.proxy().is_some_and(Proxy::holds_application);
    let is_satisfied = |rule: RuleId| (rule == RuleId::MeshHold && held) || (rule == RuleId::MeshNative && native);
    let applied = before.rules.iter().filter(|rule| rule.outcome == Verdict::Applied && !is_satisfied(rule.rule));
    applied.map(|rule| rule.rule).collect()
}

/// Returns `pod` without the containers and volumes that the injector's status annotation lists. Without a valid
/// annotation, returns `pod` unchanged.
#[must_use]
pub fn before_injection(pod: &Value) -> Value {
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
    use crate::cluster_facts::ClusterView;
    use crate::config::Configuration;
    use crate::scope::Mode;

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
    #[case::no_hold(injected(&json!({}), &json!({})), &[RuleId::MeshHold])]
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
    #[case::grpc_agent_after_the_application(
        json!({"metadata": {"annotations": {"inject.istio.io/templates": "grpc-agent", keys::SIDECAR_STATUS: r#"{"containers":["istio-proxy"]}"#}},
            "spec": {"containers": [{"name": "train"}, {"name": "istio-proxy"}]}}),
        &[RuleId::MeshHold]
    )]
    #[case::gateway(
        json!({"metadata": {"annotations": {keys::SIDECAR_STATUS: r#"{"containers":["istio-proxy"]}"#}},
            "spec": {"containers": [{"name": "istio-proxy"}]}}),
        &[]
    )]
    #[case::windows(
        json!({"metadata": {"annotations": {}}, "spec": {"os": {"name": "windows"}, "containers": [{"name": "a"}]}}), &[]
    )]
    fn missed_rules_are_those_without_effect(#[case] pod: Value, #[case] expected: &[RuleId]) {
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
