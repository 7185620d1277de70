//! Proxies that releases of Istio have injected, after the main container has terminated.

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::istio::{RELEASES, Sidecar, injected};

use super::pod::{container, pod};
use super::{Scenario, check};

/// Returns the pod with the status that the kubelet writes while only the proxy runs.
fn finished(release: &str, sidecar: Sidecar) -> Value {
    let proxy = container("istio-proxy");
    let proxy = if sidecar == Sidecar::Native { proxy.native() } else { proxy };
    let mut finished = pod("Never", [container("train T0"), proxy]);
    let mut injected = injected(release, sidecar);
    finished["spec"] = injected["spec"].take();
    finished["metadata"]["annotations"] = injected["metadata"]["annotations"].take();
    finished["metadata"]["labels"] = injected["metadata"]["labels"].take();
    finished
}

#[rstest]
#[case::native(Sidecar::Native, "skip NativeProxy")]
#[case::classic(Sidecar::Classic, "end istio-proxy envoy-admin")]
#[case::held(Sidecar::Held, "end istio-proxy envoy-admin")]
fn only_classic_proxies_are_terminated(#[case] sidecar: Sidecar, #[case] expected: &str) {
    for release in RELEASES {
        check(Scenario::default(), &finished(release, sidecar), &[expected]);
    }
}
