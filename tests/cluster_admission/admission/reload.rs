//! A configuration that changes in the cluster.

use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::pods::{SERVED, patched};
use trainmesh_testing::webhook::{APPLIED, REFUSED, Webhook};

#[test]
fn the_config_map_changes_what_pods_get_and_a_bad_one_does_not() {
    Cluster::get().mesh();
    let webhook = Webhook::start();
    let namespace = webhook.namespace(&SERVED);
    let process = &webhook.process;
    assert!(patched(&namespace), "the embedded configuration holds");

    webhook.configure("mesh: {hold: false}");
    process.counts(APPLIED, 2);
    assert!(!patched(&namespace), "the hold is off");

    webhook.configure("mesh: {hold: perhaps, unknown: 1}");
    process.counts(REFUSED, 1);
    assert!(!patched(&namespace), "the running configuration is kept");
    assert_eq!(process.get("/readyz").0, 200, "a bad configuration takes no replica away");
    assert_eq!(process.told("is refused").len(), 1);

    webhook.configure("mesh: {hold: true}");
    process.counts(APPLIED, 3);
    assert!(patched(&namespace), "the hold is on again");
}
