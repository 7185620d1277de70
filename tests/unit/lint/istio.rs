//! Pods that releases of Istio have injected.

use std::collections::BTreeSet;

use trainmesh_testing::istio::{RELEASES, Sidecar, injected};

use super::scenario::pod;

#[test]
fn injected_pods_have_no_finding() {
    for release in RELEASES {
        for sidecar in Sidecar::ALL {
            let pod = pod(&injected(release, sidecar).to_string()).labelled("istio-injection", "enabled");
            assert_eq!(pod.ids(), BTreeSet::new(), "{release} {sidecar:?}");
        }
    }
}
