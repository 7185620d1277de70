//! Pods of one profile keep away from each other. They are known by the labels that the profile itself puts on each: those
//! of a job would keep jobs apart that may well share a node's fabric no more than its pods may.

use serde_json::{Map, Value, json};

use super::work::{Work, covers};
use crate::config::profile::Spread;
use crate::mutate::plan::spec;

/// Where the rule stands in a pod's `spec`.
const PATH: [&str; 3] = ["affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

pub(super) fn plan(work: &mut Work<'_>) {
    let profile = work.profile;
    let Some(Spread::Hostname) = profile.pod.pod_anti_affinity else { return };
    let labels: Map<String, Value> =
        profile.pod.labels.iter().map(|(key, value)| (key.to_string(), value.as_str().into())).collect();
    let term = json!({"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"});
    let [affinity, anti, required] = PATH;
    let own = work.spec(affinity).and_then(|affinity| affinity.get(anti)?.get(required)?.as_array());
    if own.is_some_and(|terms| terms.iter().any(|found| covers(found, &term))) {
        return;
    }
    work.plan.append(spec([affinity, anti, required]), term);
    work.added("anti-affinity by hostname");
}
