//! Pods that the webhook should have changed and never saw.
//!
//! A call that fails leaves a pod as it was, by our own registration; nobody but this would ever notice. A new pod that
//! carries no mark of the webhook is run through the engine: what it would have done then, it was not asked. The engine
//! must see the pod as it was before injection, because what it writes has no effect after that.

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

/// The longest text of a pod that is checked, in bytes. As a tree it takes up to a hundred times as much, and its author
/// is not trusted with our memory; real pods have a tenth of this.
const LONGEST: usize = 256 * 1024;

/// Whether the webhook should have left a mark on the pod, had it been asked. `since` is when this process began to see
/// the namespace with its present labels: what was before that, it cannot know.
pub(super) fn suspicious(facts: &PodFacts, mode: Mode, since: Timestamp) -> bool {
    // In a rehearsal nothing is left.
    let marks = mode != Mode::Audit;
    // Times of creation are whole seconds.
    let new = facts.created.is_some_and(|created| created.as_second() >= since.as_second());
    // The apiserver's selector keeps opted-out pods from the webhook.
    marks && new && !facts.traced && !facts.opted_out && !facts.deleting
}

/// Reads the whole pod; `None` where its text is longer than [`LONGEST`].
pub(super) async fn fetch(client: &Client, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
    let request = Request::new(Pod::url_path(&(), Some(namespace)))
        .get(name, &GetParams::default())
        .map_err(kube::Error::BuildRequest)?;
    decode(&client.request_text(request).await?)
}

fn decode(text: &str) -> Result<Option<Value>, kube::Error> {
    if text.len() > LONGEST {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(kube::Error::SerdeError)
}

/// The rules that the webhook would have applied to `pod`, and whose effect it lacks.
pub(super) fn missed(pod: &Value, snapshot: &Snapshot<'_>) -> Vec<&'static str> {
    let before = draft(&before_injection(pod), snapshot);
    let pod = pod::Pod::new(pod);
    // A setting of the whole mesh may have brought about what a rule requests.
    let native = pod.proxy().is_some_and(|proxy| proxy.kind == ProxyKind::Native);
    let held = native || pod.is_gateway() || pod.proxy().is_some_and(Proxy::holds_application);
    let present = |rule: RuleId| (rule == RuleId::MeshHold && held) || (rule == RuleId::MeshNative && native);
    let applied = before.rules.iter().filter(|rule| rule.outcome == Verdict::Applied && !present(rule.rule));
    applied.map(|rule| rule.rule.name()).collect()
}

/// `pod` without what the injector says that it added. An annotation that does not say so leaves it as it is.
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

    /// A pod that was injected without us, with these annotations of its own and this hook of its proxy.
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
    #[case::longest(LONGEST, true)]
    #[case::too_long(LONGEST + 1, false)]
    fn lengths(#[case] length: usize, #[case] expected: bool) {
        let pod = json!({"metadata": {"name": "a"}}).to_string();
        let text = pod.clone() + &" ".repeat(length - pod.len());
        assert_eq!(decode(&text).unwrap().is_some(), expected);
    }

    #[rstest]
    #[case::new(json!({}), Mode::Enabled, true)]
    #[case::in_a_rehearsal(json!({}), Mode::Audit, false)]
    #[case::of_before(json!({"creationTimestamp": "2026-01-01T00:00:00Z"}), Mode::Enabled, false)]
    #[case::marked(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}), Mode::Enabled, false)]
    #[case::opted_out(json!({"labels": {"trainmesh.dev/inject": "disabled"}}), Mode::Enabled, false)]
    #[case::being_deleted(json!({"deletionTimestamp": "2026-01-01T00:00:02Z"}), Mode::Enabled, false)]
    fn which_pods_are_looked_at(#[case] particular: Value, #[case] mode: Mode, #[case] expected: bool) {
        let mut pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:01Z"}});
        for (key, value) in particular.as_object().unwrap() {
            pod["metadata"][key] = value.clone();
        }
        let facts = PodFacts::read(pod::Pod::new(&pod));
        assert_eq!(suspicious(&facts, mode, "2026-01-01T00:00:01.5Z".parse().unwrap()), expected);
    }

    #[rstest]
    #[case::no_hold(injected(&json!({}), &json!({})), &["mesh.hold"])]
    #[case::asked_for_it_itself(
        injected(&json!({"proxy.istio.io/config": "holdApplicationUntilProxyStarts: true"}), &json!({})), &[]
    )]
    #[case::held_by_the_whole_mesh(
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
    fn what_was_missed(#[case] pod: Value, #[case] expected: &[&str]) {
        let labels = BTreeMap::from([("istio-injection".to_owned(), "enabled".to_owned())]);
        let config = Configuration::embedded();
        let snapshot = Snapshot {
            mode: Mode::Enabled,
            namespace: "team-a",
            labels: &labels,
            config: &config,
            config_hash: "",
            replicas: None,
            cluster: ClusterView::default(),
        };
        assert_eq!(missed(&pod, &snapshot), expected);
    }

    #[rstest]
    #[case::new(json!({}), Mode::Enabled, true)]
    #[case::of_istio_aux(json!({}), Mode::IstioAux, true)]
    #[case::rehearsal(json!({}), Mode::Audit, false)]
    #[case::older_than_what_we_know(json!({"creationTimestamp": "2026-01-01T00:00:09Z"}), Mode::Enabled, false)]
    #[case::marked(json!({"annotations": {"trainmesh.dev/applied": "mesh.hold"}}), Mode::Enabled, false)]
    #[case::being_deleted(json!({"deletionTimestamp": "2026-01-01T00:01:00Z"}), Mode::Enabled, false)]
    fn pods_that_are_looked_at(#[case] metadata: Value, #[case] mode: Mode, #[case] expected: bool) {
        let mut pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:10Z"}});
        for (key, value) in metadata.as_object().unwrap() {
            pod["metadata"][key] = value.clone();
        }
        // Within the second of the pod's creation.
        let since = "2026-01-01T00:00:10.7Z".parse().unwrap();
        assert_eq!(suspicious(&PodFacts::read(pod::Pod::new(&pod)), mode, since), expected);
    }

    #[test]
    fn what_the_injector_added_is_taken_off() {
        let before = before_injection(&injected(&json!({"team": "a"}), &json!({})));
        let expected = json!({
            "metadata": {"name": "a", "annotations": {"team": "a"}},
            "spec": {"initContainers": [], "containers": [{"name": "train"}], "volumes": [{"name": "data"}]},
        });
        assert_eq!(before, expected);
    }
}
