//! Mode `direct` of the rule `mesh.traffic`: connections between the pods of a training job bypass Envoy, and calls to
//! cluster IPs stay in the mesh.
//!
//! Outbound, the ranges of the pods are excluded from capture. Inbound, only the ports that the pod declares are
//! captured, without those on which the pods of the job communicate: the ephemeral ports of NCCL and Gloo are not
//! declared. Both directions must match in all pods of a job, because a plain connection to a captured port is rejected
//! under STRICT mTLS. Therefore the rule decides by fields that all pods of a job share, or by the object of the job, and
//! refuses the pod completely if one direction is impossible.

mod annotations;
mod inbound;
mod interfaces;
mod outbound;

use super::super::{RuleContext, RuleDecision, annotation_pointer, label_pointer};
use super::captured::warn_if_captured;
use super::consequence::LEAVES_MESH;
use super::tls_mode::{self, ClientTls};
use super::{KEPT_MUTUAL, not_injected};
use crate::gang::{UnknownGang, WorkloadLookup};
use crate::keys;
use crate::mutate::{Plan, Reason};
use crate::pod::{Injection, NotInjected};
use crate::workload::{self, PodIdentity};
use annotations::CaptureAnnotations;

/// Refusal of the complete mode.
struct Refusal {
    reason: Reason,
    detail: String,
    /// Rest of the warning.
    warning: String,
    /// JSON pointer of the label or annotation of the pod that is the cause, if there is one.
    field: Option<String>,
}

pub(super) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    let pod = context.pod;
    match context.injection {
        Injection::NotExpected(_) if context.proxy.is_some() => {
            return RuleDecision::skipped(Reason::AlreadyInjected);
        }
        Injection::NotExpected(why) if why != NotInjected::Ambient => return not_injected(why),
        Injection::NotExpected(_) | Injection::Expected => {}
    }
    if pod.is_gateway() {
        return RuleDecision::skipped(Reason::GatewayPod);
    }
    let Some(member) = workload::identify(pod).filter(|member| member.training) else {
        return warn_if_captured(context, RuleDecision::skipped(Reason::NotTraining));
    };
    if !has_peers(context) {
        return warn_if_captured(context, RuleDecision::skipped(Reason::PeersUnknown));
    }
    if context.injection != Injection::Expected {
        return refused(Refusal {
            reason: Reason::TrafficAmbient,
            detail: "label the pod istio.io/dataplane-mode=none".to_owned(),
            warning: "ztunnel redirects the pod: label it istio.io/dataplane-mode=none".to_owned(),
            field: pod.label(keys::DATAPLANE_MODE).map(|_| label_pointer(keys::DATAPLANE_MODE)),
        });
    }
    if pod.disables_interception() {
        let has_no_envoy = pod.uses_grpc_agent_template();
        let mode = "sidecar.istio.io/interceptionMode is NONE";
        let cause = if has_no_envoy { "the template grpc-agent has no Envoy" } else { mode };
        return RuleDecision::skipped(Reason::InterceptionOff).with_detail(cause);
    }
    plan_direct(context, member, plan).unwrap_or_else(refused)
}

/// Returns true if the pod is one of several of its job, by its own fields or by the object of the job.
fn has_peers(context: &RuleContext<'_>) -> bool {
    if workload::shows_peers(context.pod) {
        return true;
    }
    // Without the feature, the webhook has no permission to read jobs.
    if !context.snapshot.config.gang.enabled {
        return false;
    }
    match context.snapshot.cluster.gang.workload {
        WorkloadLookup::Read(workload) => workload.has_several_pods(),
        // A request for another pod of the job may succeed, and the pods of a job must not differ: under STRICT mTLS, those
        // with the mode cannot connect to those without it. A job of one pod connects to nobody, also if its pods cannot be a
        // gang.
        WorkloadLookup::Failed(UnknownGang::Object(_) | UnknownGang::Conflict(_)) => true,
        WorkloadLookup::NotRead | WorkloadLookup::Failed(_) => false,
    }
}

/// Plans the annotations of both directions, or none.
fn plan_direct(context: &RuleContext<'_>, member: PodIdentity<'_>, plan: &mut Plan) -> Result<RuleDecision, Refusal> {
    let mesh = &context.snapshot.config.mesh;
    if mesh.pod_cidrs.is_empty() {
        let fix = "set it in the configuration; trainmesh doctor may suggest it";
        return Err(Refusal {
            reason: Reason::PodCidrsMissing,
            detail: fix.to_owned(),
            warning: format!("mesh.podCIDRs is not configured: {fix}"),
            field: None,
        });
    }
    let capture = CaptureAnnotations::parse(context.pod)?;
    let inbound = inbound::captured(context.pod, member, &capture)?;
    let outbound = outbound::excluded(mesh, &capture);
    let interfaces = interfaces::excluded(context.pod, plan);
    let own = |key: &str| context.pod.annotation(key);
    let wanted = [
        (keys::INCLUDE_INBOUND_PORTS, inbound.written()),
        (keys::EXCLUDE_OUTBOUND_RANGES, outbound),
        (keys::EXCLUDE_INTERFACES, interfaces),
    ];
    let mut written: Vec<String> = Vec::new();
    for (key, value) in wanted {
        if let Some(value) = value.filter(|value| own(key) != Some(value)) {
            written.push(plan.set_annotation(key, value).to_string());
        }
    }
    let client_tls = if inbound.is_empty() { tls_mode::disable(context, plan) } else { ClientTls::Unchanged };
    if client_tls == ClientTls::Disabled {
        written.push(tls_mode::pointer());
    }
    let decision = match written.into_iter().next() {
        Some(field) => RuleDecision::applied(Reason::TrafficDirect, field).with_warning(LEAVES_MESH),
        None => RuleDecision::skipped(Reason::TrafficAlreadyDirect)
            .with_field(annotation_pointer(keys::EXCLUDE_OUTBOUND_RANGES)),
    };
    let decision = decision.with_detail(inbound.to_string());
    Ok(match client_tls {
        ClientTls::KeptMutual => decision.with_warning(KEPT_MUTUAL),
        ClientTls::Disabled | ClientTls::Unchanged => decision,
    })
}

impl Refusal {
    /// Creates the refusal because of annotation `key` of the pod.
    fn of_annotation(reason: Reason, key: &str, problem: String) -> Self {
        Self { reason, detail: problem.clone(), warning: problem, field: Some(annotation_pointer(key)) }
    }
}

fn refused(refusal: Refusal) -> RuleDecision {
    let warning = format!("mesh.traffic not applied: {}", refusal.warning);
    RuleDecision { field: refusal.field, ..RuleDecision::refused(refusal.reason, refusal.detail, warning) }
}
