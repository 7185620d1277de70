//! FP021: Envoy between the pods of a job. The rule mesh.traffic says the same, in the same words, where it leaves the
//! traffic alone.

use super::Subject;
use super::facts::Facts;
use super::finding::Found;
use crate::keys;
use crate::pod::Injection;
use crate::workload;

const MESSAGE: &str = "NCCL and gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=disableCapture";
const FIELD: &str = "/metadata/annotations";

/// FP021: nobody keeps the job's traffic out of Envoy.
pub(super) fn traffic(facts: &Facts<'_>, found: &mut Found<'_>) {
    captured(facts.subject, found);
}

/// The same of a pod of which the facts are not needed.
pub(super) fn captured(subject: &Subject<'_>, found: &mut Found<'_>) {
    if is_captured(subject) {
        found.add(FIELD, MESSAGE);
    }
}

/// Whether the pod works together with others through a proxy, and nobody has decided that it shall.
fn is_captured(subject: &Subject<'_>) -> bool {
    let Subject { pod, labels, injection, .. } = *subject;
    let decided = pod.label(keys::MESH_TRAFFIC).is_some() || labels.contains_key(keys::MESH_TRAFFIC);
    let steered = || pod.annotation_keys().any(|key| key.starts_with(keys::TRAFFIC_PREFIX));
    let captured = || injection == Injection::Expected || pod.proxy().is_some();
    !decided && captured() && !steered() && one_of_several(subject)
}

fn one_of_several(subject: &Subject<'_>) -> bool {
    let Some(member) = subject.member.filter(|member| member.training) else { return false };
    let known = subject.replicas.is_some_and(|replicas| replicas > 1);
    !workload::is_auxiliary_role(member) && (known || workload::has_peers(subject.pod, member))
}
