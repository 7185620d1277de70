//! `mesh.traffic` with a real injector, which must honor what the rule writes.

use rstest::rstest;
use serde_json::{Value, json};

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{OPTED_IN, pod};
use trainmesh_testing::webhook::Webhook;

#[rstest]
#[case::istio_default("leave", true, &[Value::Null, Value::Null], json!("istio"))]
#[case::capture_disabled("disableCapture", true, &[json!(""), json!("")], json!("disabled"))]
#[case::injection_disabled("disableInjection", false, &[Value::Null, Value::Null], Value::Null)]
fn the_namespace_label_keeps_traffic_out_of_envoy(
    #[case] mode: &str,
    #[case] injected: bool,
    #[case] captured: &[Value],
    #[case] tls_mode: Value,
) {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&[OPTED_IN[0], OPTED_IN[1], ("trainmesh.dev/mesh-traffic", mode)]);
    let created = namespace.create_dry_run(&pod("train")).expect("the pod would be created");
    let containers = created["spec"]["containers"].as_array().expect("a list");
    let has_proxy = containers.iter().any(|container| container["name"] == "istio-proxy");
    assert_eq!(has_proxy, injected, "{created:#}");
    let annotations = ["includeInboundPorts", "includeOutboundIPRanges"]
        .map(|key| created["metadata"]["annotations"][format!("traffic.sidecar.istio.io/{key}")].clone());
    assert_eq!(annotations, captured, "{created:#}");
    assert_eq!(created["metadata"]["labels"]["security.istio.io/tlsMode"], tls_mode, "{created:#}");
}
