//! `apps/v1` `StatefulSet`, and code shared with the kinds that create `StatefulSets`.
//!
//! Follows the `StatefulSet` controller of Kubernetes 1.36.

use serde_json::{Value, json};

use super::replicaset::replica_draft;
use crate::pod::Pod;
use crate::workload::identity::{identity_by_owner, numeric_label};
use crate::workload::template::{Draft, Field, Owner, ZERO_HASH, list_mut};
use crate::workload::{Fidelity, GangTraits, Manifest, PodIdentity, RenderError, RolePod, SOLE_ROLE, WorkloadKind};

/// A `StatefulSet`: pods with an ordinal, a stable name and their own volumes.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "apps",
    versions: &["v1"],
    kind: "StatefulSet",
    resource: "statefulsets",
    fidelity: Fidelity::Exact,
    render,
    identify,
    labels: &[POD_INDEX],
    gang: GangTraits::NONE,
};

/// Label that contains a pod's ordinal in its set.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// Identity of a pod in a set.
#[derive(Clone, Debug)]
pub(super) struct Identity<'a> {
    /// Name of the set.
    pub(super) set: &'a str,
    /// Headless Service that governs the DNS names of the pods.
    pub(super) service: Option<&'a str>,
    /// Ordinal of the pod.
    pub(super) ordinal: u64,
    /// `volumeClaimTemplates` of the set.
    pub(super) claims: Field<'a>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let owner = Owner::from_manifest(manifest, "apps/v1", "StatefulSet")?;
    let spec = Field::root(manifest.raw).get("spec");
    let (mut draft, replicas) = replica_draft(manifest, &owner)?;
    let identity = Identity {
        set: &owner.name,
        service: spec.get("serviceName").text()?,
        ordinal: spec.get("ordinals").get("start").count()?.unwrap_or(0),
        claims: spec.get("volumeClaimTemplates"),
    };
    apply_identity(&mut draft, &identity)?;
    Ok(vec![draft.into_role(SOLE_ROLE, replicas)])
}

fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    Some(PodIdentity { index: numeric_label(pod, POD_INDEX), ..identity_by_owner(pod, "apps/v1", &KIND)? })
}

/// Adds the fields that the controller sets on a pod of a set.
pub(super) fn apply_identity(draft: &mut Draft, identity: &Identity<'_>) -> Result<(), RenderError> {
    let Identity { set, service, ordinal, claims } = identity;
    let name = format!("{set}-{ordinal}");
    draft.label("statefulset.kubernetes.io/pod-name", name.as_str());
    draft.label(POD_INDEX, ordinal.to_string());
    draft.label("controller-revision-hash", format!("{set}-{ZERO_HASH}"));
    draft.add_note(format!("the hash in controller-revision-hash is generated in the cluster, shown as {ZERO_HASH}"));
    draft.set("hostname", name.as_str());
    draft.spec.shift_remove("subdomain");
    if let Some(service) = service {
        draft.set("subdomain", *service);
    }
    add_claims(draft, claims, &name)?;
    draft.name = Some(name);
    Ok(())
}

/// Adds the claims as volumes before those of the template, and removes volumes of the template with the same name.
fn add_claims(draft: &mut Draft, claims: &Field<'_>, pod: &str) -> Result<(), RenderError> {
    let mut volumes: Vec<Value> = Vec::new();
    for claim in claims.items()? {
        let Some(name) = claim.get("metadata").get("name").text()? else { continue };
        volumes.retain(|volume| volume["name"] != name);
        volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": format!("{name}-{pod}")}}));
    }
    if volumes.is_empty() {
        return Ok(());
    }
    if let Some(list) = list_mut(&mut draft.spec, "volumes") {
        list.retain(|known| volumes.iter().all(|claimed| Some(&claimed["name"]) != known.get("name")));
        list.splice(0..0, volumes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::workload::template::testing::{check, error};

    fn set(spec: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec})
    }

    #[rstest]
    #[case::plain(json!({"serviceName": "db-headless", "replicas": 3, "template": {"spec": {"subdomain": "overridden"}}}), 3, json!({
        "/metadata/name": "db-0",
        "/metadata/generateName": "db-",
        "/metadata/labels": {
            "statefulset.kubernetes.io/pod-name": "db-0",
            "apps.kubernetes.io/pod-index": "0",
            "controller-revision-hash": "db-0000000000",
        },
        "/spec": {"subdomain": "db-headless", "hostname": "db-0"},
    }))]
    #[case::no_service(json!({"template": {"spec": {"subdomain": "overridden"}}}), 1, json!({"/spec": {"hostname": "db-0"}}))]
    #[case::later_start(json!({"ordinals": {"start": 5}, "template": {"spec": {}}}), 1, json!({
        "/metadata/name": "db-5",
        "/metadata/labels/apps.kubernetes.io~1pod-index": "5",
    }))]
    #[case::claims(
        json!({
            "template": {"spec": {"volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "data", "emptyDir": {}}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}, {"metadata": null}],
        }), 1,
        json!({"/spec/volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
            {"name": "logs", "persistentVolumeClaim": {"claimName": "logs-db-0"}},
            {"name": "scratch", "emptyDir": {}},
        ]})
    )]
    #[case::malformed_volumes(
        json!({"template": {"spec": {"volumes": "x"}}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}), 1,
        json!({"/spec/volumes": "x"})
    )]
    fn pods_have_a_stable_identity(#[case] spec: Value, #[case] replicas: u64, #[case] expected: Value) {
        check(&set(&spec), "Pod", replicas, &expected);
    }

    #[test]
    fn a_negative_start_is_rejected() {
        let raw = set(&json!({"ordinals": {"start": -1}, "template": {"spec": {}}}));
        assert_eq!(error(&raw), "spec.ordinals.start is -1: expected a whole number from 0 to 2147483647");
    }

    #[test]
    fn the_ordinal_is_read_from_a_label() {
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": true});
        let raw = json!({"metadata": {"labels": {"apps.kubernetes.io/pod-index": "2"}, "ownerReferences": [owner]}});
        let member = identify(Pod::new(&raw)).unwrap();
        assert_eq!((member.workload, member.index, member.training), ("db", Some(2), false));
    }
}
