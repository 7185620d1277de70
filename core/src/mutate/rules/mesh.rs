//! The mesh rules, which order the start of istio-proxy and the application and configure traffic capture.

mod captured;
pub(super) mod consequence;
mod direct;
pub(super) mod hold;
pub(super) mod native;
mod tls_mode;
pub(super) mod traffic;

use super::RuleDecision;
use crate::pod::NotInjected;

/// Warning about a pod without captured ports whose own label makes clients use mTLS.
const KEPT_MUTUAL: &str =
    "mesh.traffic: no inbound port is captured, but security.istio.io/tlsMode makes clients use mTLS: remove it";

/// Returns the decision for a pod without a proxy.
fn not_injected(why: NotInjected) -> RuleDecision {
    let decision = RuleDecision::skipped(why.into());
    match why {
        NotInjected::Ambient => {
            decision.with_detail("ztunnel redirects its traffic, unless it is labeled istio.io/dataplane-mode=none")
        }
        _ => decision,
    }
}
