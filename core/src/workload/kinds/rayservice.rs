//! `ray.io` `RayService`: the pods of the `RayCluster` that it creates.

use super::raycluster::{API_VERSION, Cluster, RANDOM_NAME_NOTE};
use crate::workload::template::{Field, Owner, ZERO_SUFFIX};
use crate::workload::{Fidelity, GangTraits, Manifest, RenderError, RolePod, WorkloadKind};

/// A `RayService`. The labels of its pods name only the `RayCluster`, so they are identified as part of that.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "ray.io",
    versions: &["v1", "v1alpha1"],
    kind: "RayService",
    resource: "rayservices",
    fidelity: Fidelity::Documented,
    render,
    identify: |_| None,
    labels: &[],
    gang: GangTraits::NONE,
};

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let service = Owner::from_manifest(manifest, API_VERSION, "RayService")?;
    let name = format!("{}-{ZERO_SUFFIX}", service.name);
    let cluster = Cluster {
        owner: service.child(API_VERSION, "RayCluster", name),
        namespace: manifest.namespace,
        annotations: root.get("metadata").get("annotations"),
        spec: root.get("spec").get("rayClusterConfig"),
        is_ray_service: true,
    };
    cluster.spec.required_object()?;
    let mut roles = cluster.roles()?;
    for role in &mut roles {
        role.notes.push(RANDOM_NAME_NOTE.to_owned());
    }
    Ok(roles)
}
