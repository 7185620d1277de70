//! The webhook and a restart of the apiserver: its watches break, and its caller is gone.

use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};
use trainmesh_testing::load::{goes_on, under_load};
use trainmesh_testing::pods::{SERVED, held, patched};
use trainmesh_testing::webhook::{APPLIED, Webhook};

#[test]
fn the_webhook_goes_on_after_a_restart_of_the_apiserver() {
    let webhook = Webhook::start();
    let [opted_in, injected] = SERVED;
    let namespace = webhook.namespace(&[opted_in, injected]);
    let later = webhook.namespace(&[opted_in]);
    assert!(!patched(&later), "where nothing is injected there is nothing to hold");

    let load = under_load(&namespace, || {
        goes_on(&namespace);
        let stopped = Cluster::get().stop("apiserver");
        eventually(PATIENCE, "its watches have tried again in vain", || {
            if webhook.process.told("watch of the namespaces failed").is_empty() { Err("not yet") } else { Ok(()) }
        });
        assert_eq!(webhook.process.get("/readyz").0, 200, "what it knows is still good for reviews");
        drop(stopped);
        goes_on(&namespace);
    });
    assert!(!load.failed.is_empty(), "the apiserver was there all the time");
    let pods = namespace.pods("");
    assert!(pods.len() >= load.created.len());
    for pod in pods {
        assert!(held(&pod), "{}", pod["metadata"]);
    }

    assert_eq!(webhook.process.get("/readyz").0, 200);
    let label = format!("{}={}", injected.0, injected.1);
    let _ = Cluster::get().kubectl(&["label", "namespace", &later.name, &label], "").success();
    eventually(PATIENCE, "the label that came later counts", || if patched(&later) { Ok(()) } else { Err("no hold") });
    webhook.configure("mesh: {hold: false}");
    webhook.process.counts(APPLIED, 2);
    assert!(!patched(&namespace), "the hold is off");
}
