//! `apps/v1` `DaemonSet`.
//!
//! Source of the rules: the `DaemonSet` controller of Kubernetes 1.36.

use serde_json::{Map, Value, json};

use crate::workload::member::by_owner;
use crate::workload::template::{Draft, Field, Owner, ZERO_HASH, list_mut, object_mut};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, RenderError, Role, SOLE_ROLE};

/// A `DaemonSet`: one pod for each node.
pub(super) static KIND: Kind = Kind {
    group: "apps",
    versions: &["v1"],
    kind: "DaemonSet",
    resource: "daemonsets",
    fidelity: Fidelity::Exact,
    render,
    identify: |pod| by_owner(pod, "apps/v1", &KIND),
    gang: GangTraits::NONE,
};

/// Stands for the node that a pod is made for.
const NODE: &str = "unknown-node";
/// Set by the apiserver from its own count of template changes; a new set has the first.
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// Taints that no pod of a `DaemonSet` minds.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
/// One more that pods on the node's own network do not mind: they need no other.
const TOLERATED_BY_HOST_NETWORK: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let owner = Owner::of(manifest, "apps/v1", "DaemonSet")?;
    let root = Field::root(manifest.raw);
    let mut draft = Draft::new(&root.get("spec").get("template"), &owner, manifest.namespace)?;
    let generation = root.get("metadata").get("annotations").get(GENERATION).text()?.unwrap_or("1");
    draft.label("pod-template-generation", generation);
    draft.label("controller-revision-hash", ZERO_HASH);
    for taint in TOLERATED.into_iter().chain(draft.host_network().then_some(TOLERATED_BY_HOST_NETWORK)) {
        tolerate(&mut draft.spec, taint);
    }
    bind(&mut draft.spec);
    draft.note("one pod is made for each node that the template's selectors and tolerations admit");
    draft.note(format!("the node is known only in the cluster: {NODE} stands for it"));
    draft.note(format!("controller-revision-hash is made in the cluster: {ZERO_HASH} stands for it"));
    Ok(vec![draft.into_role(SOLE_ROLE, 1)])
}

/// Adds a toleration; one of the same taint that differs only in its duration is replaced where it stands.
fn tolerate(spec: &mut Map<String, Value>, (key, effect): (&str, &str)) {
    let Some(list) = list_mut(spec, "tolerations") else { return };
    let toleration = json!({"key": key, "operator": "Exists", "effect": effect});
    let same = |known: &Value| {
        ["key", "operator", "effect", "value"].into_iter().all(|field| text(known, field) == text(&toleration, field))
    };
    match list.iter().position(same) {
        Some(place) => list[place] = toleration,
        None => list.push(toleration),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Binds the pod to its node through required node affinity, whose other terms give way: the controller has
/// already matched them.
fn bind(spec: &mut Map<String, Value>) {
    let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE]}]}]);
    let path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
    let mut place = spec;
    for key in path {
        let Some(next) = object_mut(place, key) else { return };
        place = next;
    }
    place.insert("nodeSelectorTerms".to_owned(), terms);
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::workload::template::testing::check;

    fn toleration(name: &str, effect: &str) -> Value {
        json!({"key": format!("node.kubernetes.io/{name}"), "operator": "Exists", "effect": effect})
    }

    fn tolerations() -> Vec<Value> {
        vec![
            toleration("not-ready", "NoExecute"),
            toleration("unreachable", "NoExecute"),
            toleration("disk-pressure", "NoSchedule"),
            toleration("memory-pressure", "NoSchedule"),
            toleration("pid-pressure", "NoSchedule"),
            toleration("unschedulable", "NoSchedule"),
        ]
    }

    fn with(own: Vec<Value>, more: &[Value]) -> Vec<Value> {
        own.into_iter().chain(more.iter().cloned()).collect()
    }

    #[rstest]
    #[case::plain(json!({}), json!({
        "/metadata/generateName": "agent-",
        "/metadata/labels": {"pod-template-generation": "1", "controller-revision-hash": "0000000000"},
        "/spec/tolerations": tolerations(),
        "/spec/affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["unknown-node"]}]},
        ]}}},
    }))]
    #[case::host_network(json!({"hostNetwork": true}), json!({
        "/spec/tolerations": with(tolerations(), &[toleration("network-unavailable", "NoSchedule")]),
    }))]
    #[case::own_tolerations(
        json!({"tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Exists"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        ]}),
        json!({"/spec/tolerations": with(vec![json!({"key": "nvidia.com/gpu", "operator": "Exists"})], &tolerations())})
    )]
    #[case::own_affinity(
        json!({"affinity": {"podAffinity": {}, "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [],
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": []}]},
        }}}),
        json!({
            "/spec/affinity/podAffinity": {},
            "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution": [],
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions": null,
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/key": "metadata.name",
        })
    )]
    #[case::odd(json!({"affinity": "x", "tolerations": {}}), json!({"/spec": {"affinity": "x", "tolerations": {}}}))]
    fn pods(#[case] spec: Value, #[case] expected: Value) {
        let raw = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {"template": {"spec": spec}}});
        check(&raw, "Pod", 1, &expected);
    }
}
