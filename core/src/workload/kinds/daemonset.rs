//! `apps/v1` `DaemonSet`.
//!
//! Follows the `DaemonSet` controller of Kubernetes 1.36.

use serde_json::{Map, Value, json};

use crate::workload::identity::identity_by_owner;
use crate::workload::template::{Draft, Field, Owner, ZERO_HASH, list_mut, object_mut};
use crate::workload::{Fidelity, GangTraits, Manifest, RenderError, RolePod, SOLE_ROLE, WorkloadKind};

/// A `DaemonSet`: one pod per node.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "apps",
    versions: &["v1"],
    kind: "DaemonSet",
    resource: "daemonsets",
    fidelity: Fidelity::Exact,
    render,
    identify: |pod| identity_by_owner(pod, "apps/v1", &KIND),
    labels: &[],
    gang: GangTraits::NONE,
};

/// Placeholder for the node that a pod is created for.
const PLACEHOLDER_NODE: &str = "unknown-node";
/// Annotation in which the apiserver counts template changes, starting at 1.
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// Taints that every pod of a `DaemonSet` tolerates, with their effects.
const TOLERATED_TAINTS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
/// Additional taint that pods on the host network tolerate, because they do not need the pod network.
const HOST_NETWORK_TAINT: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let owner = Owner::from_manifest(manifest, "apps/v1", "DaemonSet")?;
    let root = Field::root(manifest.raw);
    let mut draft = Draft::new(&root.get("spec").get("template"), &owner, manifest.namespace)?;
    let generation = root.get("metadata").get("annotations").get(GENERATION).text()?.unwrap_or("1");
    draft.label("pod-template-generation", generation);
    draft.label("controller-revision-hash", ZERO_HASH);
    for taint in TOLERATED_TAINTS.into_iter().chain(draft.uses_host_network().then_some(HOST_NETWORK_TAINT)) {
        tolerate(&mut draft.spec, taint);
    }
    bind(&mut draft.spec);
    draft.add_note("one pod is created for each node that matches the template's node selectors and tolerations");
    draft.add_note(format!("the node is assigned in the cluster, shown as {PLACEHOLDER_NODE}"));
    draft.add_note(format!("controller-revision-hash is generated in the cluster, shown as {ZERO_HASH}"));
    Ok(vec![draft.into_role(SOLE_ROLE, 1)])
}

/// Adds a toleration, or replaces an existing one that differs only in `tolerationSeconds`. Keeps one with other fields, or a value that the
/// apiserver rejects.
fn tolerate(spec: &mut Map<String, Value>, (key, effect): (&str, &str)) {
    let Some(list) = list_mut(spec, "tolerations") else { return };
    let toleration = json!({"key": key, "operator": "Exists", "effect": effect});
    let same = |known: &Value| {
        ["key", "operator", "effect", "value"].into_iter().all(|field| text(known, field) == text(&toleration, field))
    };
    match list.iter().position(same) {
        Some(index) if is_valid(&list[index]) => list[index] = toleration,
        Some(_) => {}
        None => list.push(toleration),
    }
}

/// Returns true if the fields of a toleration exist, and its duration is a number.
fn is_valid(toleration: &Value) -> bool {
    let mut fields = toleration.as_object().into_iter().flatten();
    fields.all(|(field, value)| match field.as_str() {
        "key" | "operator" | "effect" | "value" => value.is_string() || value.is_null(),
        "tolerationSeconds" => value.is_i64() || value.is_null(),
        _ => false,
    })
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Binds the pod to its node with required node affinity. Replaces existing terms, which the controller has already
/// matched.
fn bind(spec: &mut Map<String, Value>) {
    let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [PLACEHOLDER_NODE]}]}]);
    let path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
    let mut object = spec;
    for key in path {
        let Some(next) = object_mut(object, key) else { return };
        object = next;
    }
    object.insert("nodeSelectorTerms".to_owned(), terms);
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
    #[case::malformed(json!({"affinity": "x", "tolerations": {}}), json!({"/spec": {"affinity": "x", "tolerations": {}}}))]
    fn pods_are_bound_and_tolerate_node_taints(#[case] spec: Value, #[case] expected: Value) {
        let raw = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {"template": {"spec": spec}}});
        check(&raw, "Pod", 1, &expected);
    }
}
