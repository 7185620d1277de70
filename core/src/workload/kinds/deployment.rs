//! `apps/v1` Deployment: the pods of the `ReplicaSet` that it creates.

use super::replicaset::{self, replica_draft};
use crate::pod::Pod;
use crate::workload::identity::identity_by_owner;
use crate::workload::template::{Owner, ZERO_HASH, truncate};
use crate::workload::{Fidelity, GangTraits, Manifest, PodIdentity, RenderError, RolePod, SOLE_ROLE, WorkloadKind};

/// A Deployment.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "apps",
    versions: &["v1"],
    kind: "Deployment",
    resource: "deployments",
    fidelity: Fidelity::Exact,
    render,
    identify,
    labels: &[TEMPLATE_HASH],
    gang: GangTraits::NONE,
};

const TEMPLATE_HASH: &str = "pod-template-hash";
/// Maximum length of the Deployment's name within the name of its `ReplicaSet`, which also contains a dash and the
/// hash.
const MAX_BASE_LENGTH: usize = 253 - 1 - ZERO_HASH.len();

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let deployment = Owner::from_manifest(manifest, "apps/v1", "Deployment")?;
    let name = format!("{}-{ZERO_HASH}", truncate(&deployment.name, MAX_BASE_LENGTH));
    let (mut draft, replicas) = replica_draft(manifest, &deployment.child("apps/v1", "ReplicaSet", name))?;
    draft.label(TEMPLATE_HASH, ZERO_HASH);
    draft.add_note(format!(
        "{TEMPLATE_HASH}, also in the ReplicaSet's name, is generated in the cluster, shown as {ZERO_HASH}"
    ));
    Ok(vec![draft.into_role(SOLE_ROLE, replicas)])
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let set = identity_by_owner(pod, "apps/v1", &replicaset::KIND)?;
    let job = set.workload.strip_suffix(pod.label(TEMPLATE_HASH)?)?.strip_suffix('-')?;
    Some(PodIdentity { kind: &KIND, workload: job, ..set })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::workload::template::testing::{check, error};

    #[rstest]
    #[case::deployment("apps/v1", "Deployment", json!({
        "/metadata/generateName": "web-0000000000-",
        "/metadata/labels": {"app": "web", "pod-template-hash": "0000000000"},
        "/metadata/annotations": {"note": "kept"},
        "/metadata/finalizers": ["example.com/kept"],
        "/metadata/name": null,
        "/metadata/ownerReferences/0/kind": "ReplicaSet",
        "/metadata/ownerReferences/0/name": "web-0000000000",
        "/metadata/ownerReferences/0/uid": "00000000-0000-0000-0000-000000000000",
        "/spec": {"containers": []},
    }))]
    #[case::replica_set("apps/v1", "ReplicaSet", json!({
        "/metadata/generateName": "web-",
        "/metadata/labels": {"app": "web"},
        "/metadata/ownerReferences/0": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": true, "blockOwnerDeletion": true},
    }))]
    #[case::replication_controller("v1", "ReplicationController", json!({
        "/metadata/generateName": "web-",
        "/metadata/ownerReferences/0": {"apiVersion": "v1", "kind": "ReplicationController", "name": "web", "uid": "u1", "controller": true, "blockOwnerDeletion": true},
    }))]
    fn identical_pods_are_rendered_from_the_template(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] expected: Value,
    ) {
        let template = json!({
            "metadata": {"name": "dropped", "labels": {"app": "web"}, "annotations": {"note": "kept"}, "finalizers": ["example.com/kept"]},
            "spec": {"containers": []},
        });
        let mut raw = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "uid": "u1"}, "spec": {"template": template}});
        check(&raw, "Pod", 1, &expected);
        raw["spec"]["replicas"] = 0.into();
        check(&raw, "Pod", 0, &expected);
        raw["spec"]["replicas"] = "2".into();
        assert_eq!(
            error(&raw),
            "spec.replicas is \"2\": expected a whole number from 0 to 2147483647; remove the quotes"
        );
        raw["spec"] = Value::Null;
        assert_eq!(error(&raw), "spec.template is missing");
    }

    #[rstest]
    #[case::deployment(json!({"pod-template-hash": "5d8f"}), "web-5d8f", Some("web"))]
    #[case::lone_replica_set(json!({}), "web-5d8f", None)]
    #[case::another_hash(json!({"pod-template-hash": "77"}), "web-5d8f", None)]
    #[case::nothing_before_the_hash(json!({"pod-template-hash": "5d8f"}), "5d8f", None)]
    fn pods_are_identified_by_template_hash(#[case] labels: Value, #[case] set: &str, #[case] expected: Option<&str>) {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "controller": true});
        let raw = json!({"metadata": {"labels": labels, "ownerReferences": [owner]}});
        assert_eq!(identify(Pod::new(&raw)).map(|member| member.workload), expected);
    }
}
