//! `mesh.traffic` before a real injector: it sees what the rule has written.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{SERVED, pod};
use trainmesh_testing::webhook::Webhook;

#[rstest]
#[case::as_istio_decides("leave", true, &[Value::Null, Value::Null])]
#[case::captured_by_nothing("disableCapture", true, &[json!(""), json!("")])]
#[case::without_a_proxy("disableInjection", false, &[Value::Null, Value::Null])]
fn the_label_of_a_namespace_keeps_traffic_out_of_envoy(
    #[case] mode: &str,
    #[case] injected: bool,
    #[case] captured: &[Value],
) {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[SERVED[0], SERVED[1], ("trainmesh.dev/mesh-traffic", mode)]);
    let created = namespace.rehearse(&pod("train")).expect("the pod would be created");
    let containers = created["spec"]["containers"].as_array().expect("a list");
    let has_proxy = containers.iter().any(|container| container["name"] == "istio-proxy");
    assert_eq!(has_proxy, injected, "{created:#}");
    let annotations = ["includeInboundPorts", "includeOutboundIPRanges"]
        .map(|key| created["metadata"]["annotations"][format!("traffic.sidecar.istio.io/{key}")].clone());
    assert_eq!(annotations, captured, "{created:#}");
}
