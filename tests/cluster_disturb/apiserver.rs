//! The webhook during a restart of the apiserver: its watches break, and its client is gone.

use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::load::{under_load, wait_for_new_pods};
use trainmesh_testing::pods::{OPTED_IN, adds_hold, has_hold};
use trainmesh_testing::webhook::{APPLIED, Webhook};

#[test]
fn the_webhook_recovers_from_a_restart_of_the_apiserver() {
    let webhook = Webhook::start();
    let [opted_in, injected] = OPTED_IN;
    let namespace = webhook.namespace(&[opted_in, injected]);
    let later = webhook.namespace(&[opted_in]);
    assert!(!adds_hold(&later), "without injection there must be no hold");

    let load = under_load(&namespace, || {
        wait_for_new_pods(&namespace);
        let stopped = Cluster::get().stop("apiserver");
        eventually(TIMEOUT, "the webhook has retried its watches", || {
            if webhook.process.logged("watch of namespaces failed").is_empty() { Err("not yet") } else { Ok(()) }
        });
        assert_eq!(webhook.process.get("/readyz").0, 200, "the cached state must suffice for reviews");
        drop(stopped);
        wait_for_new_pods(&namespace);
    });
    assert!(!load.failed.is_empty(), "the apiserver was never unavailable");
    let pods = namespace.pods("");
    assert!(pods.len() >= load.created.len());
    for pod in pods {
        assert!(has_hold(&pod), "{}", pod["metadata"]);
    }

    assert_eq!(webhook.process.get("/readyz").0, 200);
    let label = format!("{}={}", injected.0, injected.1);
    let _ = Cluster::get().kubectl(&["label", "namespace", &later.name, &label], "").success();
    eventually(
        TIMEOUT,
        "the label added later takes effect",
        || if adds_hold(&later) { Ok(()) } else { Err("no hold") },
    );
    webhook.configure("mesh: {hold: false}");
    webhook.process.wait_for_metric(APPLIED, 2);
    assert!(!adds_hold(&namespace), "the hold must be disabled");
}
