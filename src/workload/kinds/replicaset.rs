//! `apps/v1` `ReplicaSet`.

use super::super::{Fidelity, Kind, Manifest, Member, RenderError, Role};
use super::controller::{Owner, alike, owned_by};
use crate::pod::Pod;

/// A `ReplicaSet`: pods that are all alike.
pub(super) static KIND: Kind =
    Kind { group: "apps", versions: &["v1"], kind: "ReplicaSet", fidelity: Fidelity::Exact, render, identify };

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let owner = Owner::of(manifest, "apps/v1", "ReplicaSet")?;
    let (draft, replicas) = alike(manifest, &owner)?;
    Ok(vec![draft.into_role("Pod", replicas)])
}

fn identify(pod: Pod<'_>) -> Option<Member<'_>> {
    let job = owned_by(pod, "apps/v1", "ReplicaSet")?;
    Some(Member { kind: KIND.kind, job, role: None, index: None, training: false })
}
