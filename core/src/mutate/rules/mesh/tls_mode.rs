//! The label `security.istio.io/tlsMode`, by which clients with a sidecar choose between mTLS and plain text.
//!
//! Capture does not matter to them: they use mTLS if the label of the endpoint is `istio`, and plain text otherwise
//! (istio/istio 86c9f01, 2026-08-22, `pilot/pkg/xds/endpoints/mtls_checker.go` and `pilot/pkg/model/service.go`). The
//! injector writes `istio` unless the pod has a value that is not empty (`injection-template.yaml` of istio-discovery).
//! If nothing is captured, no Envoy terminates that mTLS, and the application receives a TLS handshake.

use super::super::{RuleContext, label_pointer};
use crate::keys;
use crate::mutate::Plan;

/// Value that makes clients use mTLS.
const MUTUAL: &str = "istio";
/// Value that makes clients use plain text.
const DISABLED: &str = "disabled";

/// Result of [`disable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientTls {
    /// The label was written.
    Disabled,
    /// Clients use plain text without a change, or it is unknown which ports Envoy serves.
    Unchanged,
    /// The pod's own label makes clients use mTLS.
    KeptMutual,
}

/// Writes the label into a pod without captured inbound ports, unless the pod has a value of its own.
pub(super) fn disable(context: &RuleContext<'_>, plan: &mut Plan) -> ClientTls {
    let pod = context.pod;
    // With mode `NONE`, Envoy may terminate mTLS on ports of its own (`ingress` of a Sidecar). The grpc-agent template
    // has no Envoy: the application terminates mTLS.
    if pod.disables_interception() {
        return ClientTls::Unchanged;
    }
    match pod.label(keys::TLS_MODE) {
        None => {
            plan.set_label(keys::TLS_MODE, DISABLED);
            ClientTls::Disabled
        }
        // The injector replaces an empty value by `istio`.
        Some(MUTUAL | "") => ClientTls::KeptMutual,
        Some(_) => ClientTls::Unchanged,
    }
}

/// Returns the JSON pointer of the label.
pub(super) fn pointer() -> String {
    label_pointer(keys::TLS_MODE)
}
