//! Pods that releases of Istio have injected, in the second call of the webhook: this webhook has requested the hold, and Istio has
//! rendered the pod.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::mutate::RuleId;
use trainmesh_testing::istio::{HOLD, RELEASES, Sidecar, injected};

use super::{Scenario, check};

/// Returns a pod after the first call of the webhook and the injection.
fn reinvoked(release: &str, sidecar: Sidecar) -> Value {
    let mut pod = injected(release, sidecar);
    pod["metadata"]["annotations"]["proxy.istio.io/config"] = HOLD.into();
    pod["metadata"]["annotations"]["trainmesh.dev/applied"] = "mesh.hold".into();
    pod
}

#[rstest]
#[case::native(Sidecar::Native, "skipped NativeSidecar", &[])]
#[case::held(Sidecar::Held, "skipped HoldRendered", &[])]
// The injector was called first, and has not read the request.
#[case::classic(Sidecar::Classic, "refused HoldNotRendered", &["after Istio's injector"])]
fn what_istio_rendered_is_recognized(#[case] sidecar: Sidecar, #[case] expected: &str, #[case] warnings: &[&str]) {
    for release in RELEASES {
        let pod = reinvoked(release, sidecar);
        check(&Scenario::default(), &pod, RuleId::MeshHold, expected, json!({}), warnings);
    }
}
