//! Configuration changes in the cluster.

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{OPTED_IN, adds_hold};
use trainmesh_testing::webhook::{APPLIED, REFUSED, Webhook};

#[test]
fn a_valid_config_map_takes_effect_and_an_invalid_one_does_not() {
    Cluster::get().start_mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&OPTED_IN);
    let process = &webhook.process;
    assert!(adds_hold(&namespace), "the embedded configuration adds the hold");

    webhook.configure("mesh: {hold: false}");
    process.wait_for_metric(APPLIED, 2);
    assert!(!adds_hold(&namespace), "the hold must be disabled");

    webhook.configure("mesh: {hold: perhaps, unknown: 1}");
    process.wait_for_metric(REFUSED, 1);
    assert!(!adds_hold(&namespace), "the previous configuration must stay active");
    assert_eq!(process.get("/readyz").0, 200, "an invalid configuration must not affect readiness");
    assert_eq!(process.logged("is rejected").len(), 1);

    webhook.configure("mesh: {hold: true}");
    process.wait_for_metric(APPLIED, 3);
    assert!(adds_hold(&namespace), "the hold must be enabled again");
}
