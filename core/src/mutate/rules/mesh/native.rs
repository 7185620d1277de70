//! mesh.native: ask Istio for a native sidecar, which starts before and ends after the payload by itself.

use super::super::{Facts, Ruling, annotation_pointer};
use crate::config::NativeSidecar;
use crate::keys;
use crate::mutate::{Plan, Reason};
use crate::pod::Injection;

pub(in crate::mutate::rules) fn decide(facts: &Facts<'_>, plan: &mut Plan) -> Ruling {
    let mesh = &facts.snapshot.config.mesh;
    if facts.istio_aux() {
        return Ruling::skipped(Reason::IstioAuxNamespace);
    }
    if !mesh.enabled {
        return Ruling::skipped(Reason::MeshOff);
    }
    if mesh.native_sidecar == NativeSidecar::Leave {
        return Ruling::skipped(Reason::NativeLeft);
    }
    if facts.pod.annotation(keys::NATIVE_SIDECAR).is_some() {
        return Ruling::skipped(Reason::NativeSetByUser).at(annotation_pointer(keys::NATIVE_SIDECAR));
    }
    if facts.proxy.is_some() {
        return Ruling::skipped(Reason::AlreadyInjected);
    }
    match facts.injection {
        Injection::NotExpected(why) => Ruling::skipped(why.into()),
        // Istio moves the proxy to the init containers: a gateway would be left without a container, and be rejected.
        Injection::Expected if facts.pod.is_gateway() => Ruling::skipped(Reason::GatewayPod),
        Injection::Expected if facts.pod.asks_for_grpc_agent() => Ruling::skipped(Reason::GrpcAgent),
        Injection::Expected if plan.label(keys::SIDECAR_INJECT) == Some("false") => {
            Ruling::skipped(Reason::InjectionSwitchedOff)
        }
        Injection::Expected => {
            let field = plan.set_annotation(keys::NATIVE_SIDECAR, "true");
            Ruling::applied(Reason::NativePreferred, field.as_str())
        }
    }
}
