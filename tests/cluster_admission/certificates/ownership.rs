//! Field ownership: `caBundle` belongs to the controller, the rest to the chart, whatever kind of apply the upgrade
//! uses.

use rstest::rstest;
use serde_json::{Value, json};

use super::continuity::DEFAULT_LIFETIMES;
use super::installation::{Installation, webhooks};
use super::leader::Leader;
use trainmesh_testing::cluster::Cluster;

/// Returns the webhook configuration as the chart renders it, with the first `count` webhooks.
fn rendered(installation: &Installation, count: usize) -> Value {
    let name = &installation.configuration.name;
    let selector = json!({"matchLabels": {"nobody": "here"}});
    let mut webhooks = webhooks(&installation.home.name);
    webhooks.truncate(count);
    for webhook in &mut webhooks {
        webhook["namespaceSelector"] = selector.clone();
    }
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": webhooks})
}

#[rstest]
#[case::server_side(&["apply", "--server-side", "--field-manager=chart", "--force-conflicts", "-f", "-"])]
#[case::client_side(&["apply", "-f", "-"])]
fn an_upgrade_keeps_the_ca_bundle_and_can_remove_a_webhook(#[case] upgrade: &[&str]) {
    let installation = Installation::new(1);
    // Recreated by the chart, so that no other field manager owns a field.
    let name = &installation.configuration.name;
    let _ = Cluster::get().kubectl(&["delete", "mutatingwebhookconfiguration", name], "").success();
    let _leader = Leader::start(&installation, DEFAULT_LIFETIMES);
    let upgrade = |count| {
        let _ = Cluster::get().kubectl(upgrade, &rendered(&installation, count)).success();
    };
    upgrade(3);
    installation.wait_ready();
    installation.wait_bundles(3);
    let before = installation.bundles();
    upgrade(3);
    assert_eq!(installation.bundles(), before, "an upgrade must keep the bundles");
    upgrade(2);
    assert_eq!(installation.bundles(), before[..2], "one webhook must be removed with its bundle");
    upgrade(3);
    installation.wait_bundles(3);
    assert_eq!(installation.bundles(), before, "the added webhook must get the bundle");
}
