//! `apps/v1` `ReplicaSet`, and what every kind whose pods are all alike shares with it.

use crate::workload::member::by_owner;
use crate::workload::template::{Draft, Field, Owner};
use crate::workload::{Fidelity, GangTraits, Kind, Manifest, RenderError, Role, SOLE_ROLE};

/// A `ReplicaSet`: pods that are all alike.
pub(super) static KIND: Kind = Kind {
    group: "apps",
    versions: &["v1"],
    kind: "ReplicaSet",
    resource: "replicasets",
    fidelity: Fidelity::Exact,
    render: |manifest| render(manifest, "apps/v1", "ReplicaSet"),
    identify: |pod| by_owner(pod, "apps/v1", &KIND),
    gang: GangTraits::NONE,
};

/// The pods of a workload that makes them itself, all alike.
pub(super) fn render(
    manifest: &Manifest<'_>,
    api_version: &'static str,
    kind: &'static str,
) -> Result<Vec<Role>, RenderError> {
    let (draft, replicas) = alike(manifest, &Owner::of(manifest, api_version, kind)?)?;
    Ok(vec![draft.into_role(SOLE_ROLE, replicas)])
}

/// `spec.replicas` pods of `spec.template`.
pub(super) fn alike(manifest: &Manifest<'_>, owner: &Owner<'_>) -> Result<(Draft, u64), RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let replicas = spec.get("replicas").count()?.unwrap_or(1);
    Ok((Draft::new(&spec.get("template"), owner, manifest.namespace)?, replicas))
}
