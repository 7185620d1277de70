//! Lint of a pod as it will be.

use serde_json::Value;

use super::exemption::exemption;
use super::{ProfileChoice, Snapshot};
use crate::config::Profile;
use crate::finding::Finding;
use crate::lint::{self, Subject};
use crate::pod::{Pod, injection};
use crate::scope::Mode;
use crate::workload;

/// Lints `pod`, as `after` where a patch was made for it. Silent where fabrics are switched off, and for pods that have
/// nothing to do with one.
pub(super) fn lint_patched_pod(pod: &Value, after: Option<&Value>, snapshot: &Snapshot<'_>) -> Vec<Finding> {
    let original = Pod::new(pod);
    let fabric = &snapshot.config.fabric;
    if snapshot.mode == Mode::IstioAux || !fabric.enabled || exemption(original).is_some() {
        return Vec::new();
    }
    let pod = after.map_or(original, Pod::new);
    if !lint::concerns(pod, selected(original, snapshot)) {
        return Vec::new();
    }
    // The rule mesh.traffic tells of it, of every pod that trains.
    lint::lint_some(&subject(original, pod, snapshot), &fabric.lint, |check| check != lint::CAPTURED)
}

/// What the lint is to know of a pod: `original` as its owner made it, `pod` as it will be.
#[must_use]
pub fn subject<'a>(original: Pod<'a>, pod: Pod<'a>, snapshot: &Snapshot<'a>) -> Subject<'a> {
    let Snapshot { namespace, labels, replicas, cluster, .. } = *snapshot;
    Subject {
        pod,
        original,
        labels,
        profile: selected(original, snapshot),
        cluster,
        member: workload::identify(original),
        replicas,
        injection: injection(pod, namespace, labels),
    }
}

/// The profile that the pod is to have, as living pods of its job were given it where that is known.
fn selected<'a>(pod: Pod<'a>, snapshot: &Snapshot<'a>) -> Option<&'a Profile> {
    let fabric = &snapshot.config.fabric;
    let ProfileChoice::Profile(name) = snapshot.fabric_of(pod) else { return None };
    let pinned = snapshot.cluster.pin.filter(|pin| pin.profile == name).and_then(|pin| pin.body);
    pinned.or_else(|| fabric.profiles.find(name).map(|entry| &entry.profile)).filter(|_| fabric.enabled)
}
