//! Cluster state that the webhook detects on its own.

use serde_json::json;

use super::fixture::{DEVICE, Fixture};
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};

/// Waits until a pod is created with a warning that contains `text`, or without a warning if it is empty.
fn wait_for_warning(fixture: &Fixture, text: &str) {
    let job = fixture.job(&format!("job-{}", text.len()));
    eventually(TIMEOUT, &format!("a warning contains {text:?}"), || {
        let applied = fixture.try_pod(&job, "a");
        // Webhook and quota plugin read the quota from watches of their own, so that the pod may be rejected at first.
        if !applied.status.success() {
            return Err(applied.stderr);
        }
        let fabric_warnings: Vec<&str> =
            applied.warnings().filter(|warning| warning.starts_with("fabric own")).collect();
        let found = if text.is_empty() {
            fabric_warnings.is_empty()
        } else {
            fabric_warnings.iter().any(|warning| warning.contains(text))
        };
        if found { Ok(()) } else { Err(applied.stderr.clone()) }
    });
}

/// Sets the number of devices that the node advertises, or removes the device.
fn set_node_devices(devices: Option<&str>) {
    let nodes = Cluster::get().kubectl(&["get", "nodes", "-o", "name"], "").success().stdout;
    let node = nodes.lines().next().expect("a node");
    let status = json!({"status": {"capacity": {DEVICE: devices}, "allocatable": {DEVICE: devices}}}).to_string();
    let patch = ["patch", node, "--subresource=status", "--type=merge", "-p", &status];
    let _ = Cluster::get().kubectl(&patch, "").success();
}

#[test]
fn warns_about_node_capacity_and_quota() {
    // An earlier, failed run may have left its devices.
    set_node_devices(None);
    let fixture = Fixture::new("mlx5");
    wait_for_warning(&fixture, "no node offers");
    set_node_devices(Some("4"));
    wait_for_warning(&fixture, "");
    assert_eq!(fixture.applied("a").1, "mlx5");

    let entry = format!("requests.{DEVICE}");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight"},
        "spec": {"hard": {entry: "0"}}});
    let _ = fixture.namespace.kubectl(&["delete", "pod", "a", "--wait"], "").success();
    let _ = fixture.namespace.create(&quota).success();
    wait_for_warning(&fixture, "does not fit into quota tight");
    assert_eq!(
        fixture.applied("a"),
        (String::new(), String::new()),
        "the fabric must be withheld rather than the pod rejected"
    );
    let _ = fixture.namespace.delete("resourcequota", "tight").success();
    wait_for_warning(&fixture, "");
    assert_eq!(fixture.applied("a").1, "mlx5");
    set_node_devices(None);
    wait_for_warning(&fixture, "no node offers");
}
