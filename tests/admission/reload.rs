//! A configuration that changes in the cluster.

use serde_json::json;

use crate::cluster::{Cluster, Namespace, PATIENCE, eventually};
use crate::pods::{SERVED, held, pod};
use crate::webhook::{Process, Webhook};

const APPLIED: &str = "trainmesh_config_reloads_total{result=\"applied\"}";
const REFUSED: &str = "trainmesh_config_reloads_total{result=\"refused\"}";

#[test]
fn the_config_map_changes_what_pods_get_and_a_bad_one_does_not() {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SERVED);
    let process = &webhook.process;
    assert!(patched(&namespace), "the embedded configuration holds");

    configure(&webhook, "mesh: {hold: false}");
    reloaded(process, APPLIED, 2);
    assert!(!patched(&namespace), "the hold is off");

    configure(&webhook, "mesh: {hold: perhaps, unknown: 1}");
    reloaded(process, REFUSED, 1);
    assert!(!patched(&namespace), "the running configuration is kept");
    assert_eq!(process.get("/readyz").0, 200, "a bad configuration takes no replica away");
    let log = process.log();
    let told =
        log.iter().filter(|event| event["message"].as_str().is_some_and(|text| text.contains("is refused"))).count();
    assert_eq!(told, 1, "{log:?}");

    configure(&webhook, "mesh: {hold: true}");
    reloaded(process, APPLIED, 3);
    assert!(patched(&namespace), "the hold is on again");
}

/// Writes the `ConfigMap` of this webhook.
fn configure(webhook: &Webhook, text: &str) {
    let text = format!("apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n{text}\n");
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "trainmesh-config"}, "data": {"config.yaml": text}});
    let _ = webhook.home.apply(&config_map).success();
}

fn reloaded(process: &Process, series: &str, expected: u64) {
    eventually(PATIENCE, series, || match process.metric(series) {
        found if found == expected => Ok(()),
        found => Err(found),
    });
}

fn patched(namespace: &Namespace) -> bool {
    held(&namespace.kubectl(&["create", "--dry-run=server", "-o", "json", "-f", "-"], &pod("train")).object())
}
