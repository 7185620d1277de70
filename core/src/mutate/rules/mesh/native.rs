//! Rule `mesh.native`: requests a native sidecar, which starts before the main containers and terminates after them.

use super::super::{RuleContext, RuleDecision, annotation_pointer};
use crate::config::NativeSidecar;
use crate::keys;
use crate::mutate::{Plan, Reason};
use crate::pod::Injection;

pub(in crate::mutate::rules) fn decide(context: &RuleContext<'_>, plan: &mut Plan) -> RuleDecision {
    let mesh = &context.snapshot.config.mesh;
    if context.is_istio_aux() {
        return RuleDecision::skipped(Reason::IstioAuxNamespace);
    }
    if !mesh.enabled {
        return RuleDecision::skipped(Reason::MeshOff);
    }
    if mesh.native_sidecar == NativeSidecar::Leave {
        return RuleDecision::skipped(Reason::NativeLeft);
    }
    if context.pod.annotation(keys::NATIVE_SIDECAR).is_some() {
        return RuleDecision::skipped(Reason::NativeSetByUser).with_field(annotation_pointer(keys::NATIVE_SIDECAR));
    }
    if context.proxy.is_some() {
        return RuleDecision::skipped(Reason::AlreadyInjected);
    }
    match context.injection {
        Injection::NotExpected(reason) => RuleDecision::skipped(reason.into()),
        // Istio would move the proxy to the init containers, and the apiserver rejects a gateway pod without
        // containers.
        Injection::Expected if context.pod.is_gateway() => RuleDecision::skipped(Reason::GatewayPod),
        Injection::Expected if context.pod.uses_grpc_agent_template() => RuleDecision::skipped(Reason::GrpcAgent),
        Injection::Expected if plan.label(keys::SIDECAR_INJECT) == Some("false") => {
            RuleDecision::skipped(Reason::InjectionSwitchedOff)
        }
        Injection::Expected => {
            let field = plan.set_annotation(keys::NATIVE_SIDECAR, "true");
            RuleDecision::applied(Reason::NativePreferred, field.as_str())
        }
    }
}
