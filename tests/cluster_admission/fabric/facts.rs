//! What the webhook learns of the cluster without being asked.

use serde_json::json;

use super::world::{DEVICE, World};
use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};

/// Waits until a pod is created with a warning that holds `text`, or with none if it is empty.
fn warned(world: &World, text: &str) {
    let job = world.job(&format!("job-{}", text.len()));
    eventually(PATIENCE, &format!("a warning that says {text:?}"), || {
        let applied = world.pod(&job, "a");
        let ours: Vec<&str> = applied.warnings().filter(|warning| warning.starts_with("fabric own")).collect();
        let found = if text.is_empty() { ours.is_empty() } else { ours.iter().any(|warning| warning.contains(text)) };
        if found { Ok(()) } else { Err(applied.stderr.clone()) }
    });
}

/// Has the node offer so many of the device, or none.
fn offer(devices: Option<&str>) {
    let nodes = Cluster::get().kubectl(&["get", "nodes", "-o", "name"], "").success().stdout;
    let node = nodes.lines().next().expect("a node");
    let status = json!({"status": {"capacity": {DEVICE: devices}, "allocatable": {DEVICE: devices}}}).to_string();
    let patch = ["patch", node, "--subresource=status", "--type=merge", "-p", &status];
    let _ = Cluster::get().kubectl(&patch, "").success();
}

#[test]
fn nodes_and_quotas() {
    // A run that failed may have left its offer.
    offer(None);
    let world = World::new("mlx5");
    warned(&world, "no node offers");
    offer(Some("4"));
    warned(&world, "");
    assert_eq!(world.given("a").1, "mlx5");

    let entry = format!("requests.{DEVICE}");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight"},
        "spec": {"hard": {entry: "0"}}});
    let _ = world.namespace.kubectl(&["delete", "pod", "a", "--wait"], "").success();
    let _ = world.namespace.create(&quota).success();
    warned(&world, "does not fit into quota tight");
    assert_eq!(world.given("a"), (String::new(), String::new()), "TCP is better than a pod that is refused");
    let _ = world.namespace.delete("resourcequota", "tight").success();
    warned(&world, "");
    assert_eq!(world.given("a").1, "mlx5");
    offer(None);
    warned(&world, "no node offers");
}
