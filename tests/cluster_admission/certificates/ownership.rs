//! The `caBundle` is ours and the rest the chart's, however its upgrade is done.

use rstest::rstest;
use serde_json::{Value, json};

use super::continuity::LONG;
use super::installation::{Installation, webhooks};
use super::leader::Leader;
use trainmesh_testing::cluster::Cluster;

/// The registration as the chart makes it, with its first webhooks.
fn rendered(installation: &Installation, count: usize) -> Value {
    let name = &installation.registration.name;
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
fn an_upgrade_keeps_the_ca_bundle_and_may_drop_a_webhook(#[case] upgrade: &[&str]) {
    let installation = Installation::new(1);
    // The chart makes it, and nobody beside it owns a field.
    let name = &installation.registration.name;
    let _ = Cluster::get().kubectl(&["delete", "mutatingwebhookconfiguration", name], "").success();
    let _leader = Leader::start(&installation, LONG);
    let upgrade = |count| {
        let _ = Cluster::get().kubectl(upgrade, &rendered(&installation, count)).success();
    };
    upgrade(3);
    installation.ready();
    installation.patched_bundles(3);
    let before = installation.bundles();
    upgrade(3);
    assert_eq!(installation.bundles(), before, "an upgrade leaves it");
    upgrade(2);
    assert_eq!(installation.bundles(), before[..2], "one webhook is gone, with all that it had");
    upgrade(3);
    installation.patched_bundles(3);
    assert_eq!(installation.bundles(), before, "it is back, and given its own");
}
