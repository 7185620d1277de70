//! Anti-affinity between the pods of a profile. It selects them by the labels that the profile adds, not by those of a
//! job, because pods of different jobs cannot share a node's fabric either.

use serde_json::{Map, Value, json};

use super::planner::{Planner, covers};
use crate::config::profile::AntiAffinity;
use crate::mutate::plan::spec_path;

/// Path of the anti-affinity terms in the pod's `spec`.
const PATH: [&str; 3] = ["affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

pub(super) fn plan(planner: &mut Planner<'_>) {
    let profile = planner.profile;
    let Some(AntiAffinity::Hostname) = profile.pod.pod_anti_affinity else { return };
    let labels: Map<String, Value> =
        profile.pod.labels.iter().map(|(key, value)| (key.to_string(), value.as_str().into())).collect();
    let term = json!({"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"});
    let [affinity, anti, required] = PATH;
    let own = planner.spec_field(affinity).and_then(|affinity| affinity.get(anti)?.get(required)?.as_array());
    if own.is_some_and(|terms| terms.iter().any(|found| covers(found, &term))) {
        return;
    }
    planner.plan.append(spec_path([affinity, anti, required]), term);
    planner.note_added("anti-affinity by hostname");
}
