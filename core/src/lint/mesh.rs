//! FP021: training traffic that passes through Envoy. The rule `mesh.traffic` reports the same finding if it leaves the
//! traffic unchanged.

use super::LintInput;
use super::context::CheckContext;
use super::sink::FindingSink;
use crate::finding::Severity;
use crate::keys;
use crate::pod::Injection;
use crate::workload;

const MESSAGE: &str =
    "NCCL and Gloo hang behind Envoy: label the namespace trainmesh.dev/mesh-traffic=direct or disableCapture";
/// Message for a pod that the rules do not change.
const MESSAGE_IF_EXCLUDED: &str =
    "NCCL and Gloo hang behind Envoy, and the pod is not opted in: label it sidecar.istio.io/inject=false";
const FIX_IF_EXCLUDED: &str = "opt the pod in, label it sidecar.istio.io/inject=false, or set its annotations \
                               traffic.sidecar.istio.io/includeInboundPorts and includeOutboundIPRanges to \"\"";
const FIELD: &str = "/metadata/annotations";

/// FP021: the traffic of a training job passes through Envoy.
pub(super) fn captured_traffic(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    check_input(context.input, findings);
}

/// Runs FP021 without a [`CheckContext`].
pub(super) fn check_input(input: &LintInput<'_>, findings: &mut FindingSink<'_>) {
    if is_captured(input) {
        // Assumed labels do not prove that the cluster has Istio.
        let severity = if input.labels_assumed { Severity::Info } else { Severity::Warning };
        if input.is_excluded() {
            findings.push_with_fix(severity, FIELD, MESSAGE_IF_EXCLUDED, FIX_IF_EXCLUDED);
        } else {
            findings.push_as(severity, FIELD, MESSAGE);
        }
    }
}

/// Returns true if the pod communicates with other pods of its job through a proxy, and neither a label nor an
/// annotation configures its traffic.
fn is_captured(input: &LintInput<'_>) -> bool {
    let LintInput { pod, labels, injection, .. } = *input;
    let has_label = pod.label(keys::MESH_TRAFFIC).is_some() || labels.contains_key(keys::MESH_TRAFFIC);
    // The label affects only pods that are opted in.
    let is_labeled = has_label && !input.is_excluded();
    let has_proxy = || injection == Injection::Expected || pod.proxy().is_some();
    let has_peers = || input.member.is_some_and(|member| workload::has_training_peers(pod, member, input.replicas));
    !is_labeled && has_proxy() && !pod.configures_traffic() && has_peers()
}
