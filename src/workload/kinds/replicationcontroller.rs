//! `v1` `ReplicationController`.

use super::super::{Fidelity, Kind, Manifest, Member, RenderError, Role};
use super::controller::{Owner, alike, owned_by};
use crate::pod::Pod;

/// A `ReplicationController`: the older form of a `ReplicaSet`.
pub(super) static KIND: Kind =
    Kind { group: "", versions: &["v1"], kind: "ReplicationController", fidelity: Fidelity::Exact, render, identify };

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let owner = Owner::of(manifest, "v1", "ReplicationController")?;
    let (draft, replicas) = alike(manifest, &owner)?;
    Ok(vec![draft.into_role("Pod", replicas)])
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = owned_by(pod, "v1", "ReplicationController")?;
    Some(Member { kind: KIND.kind, job, role: None, index: None, training: false })
}
