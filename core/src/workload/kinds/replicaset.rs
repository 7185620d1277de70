//! `apps/v1` `ReplicaSet`, and code shared with the other kinds that have identical pods.

use crate::workload::identity::identity_by_owner;
use crate::workload::template::{Draft, Field, Owner};
use crate::workload::{Fidelity, GangTraits, Manifest, RenderError, RolePod, SOLE_ROLE, WorkloadKind};

/// A `ReplicaSet`: identical pods.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "apps",
    versions: &["v1"],
    kind: "ReplicaSet",
    resource: "replicasets",
    fidelity: Fidelity::Exact,
    render: |manifest| render(manifest, "apps/v1", "ReplicaSet"),
    identify: |pod| identity_by_owner(pod, "apps/v1", &KIND),
    labels: &[],
    gang: GangTraits::NONE,
};

/// Renders a workload that directly owns identical pods.
pub(super) fn render(
    manifest: &Manifest<'_>,
    api_version: &'static str,
    kind: &'static str,
) -> Result<Vec<RolePod>, RenderError> {
    let (draft, replicas) = replica_draft(manifest, &Owner::from_manifest(manifest, api_version, kind)?)?;
    Ok(vec![draft.into_role(SOLE_ROLE, replicas)])
}

/// Creates a draft from `spec.template`, and returns it with `spec.replicas`.
pub(super) fn replica_draft(manifest: &Manifest<'_>, owner: &Owner<'_>) -> Result<(Draft, u64), RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let replicas = spec.get("replicas").count()?.unwrap_or(1);
    Ok((Draft::new(&spec.get("template"), owner, manifest.namespace)?, replicas))
}
