//! The webhook and a restart of the apiserver: its watches break, and its caller is gone.

use std::thread;
use std::time::Duration;

use crate::cluster::{Cluster, PATIENCE, eventually};
use crate::load::{goes_on, under_load};
use crate::pods::{SERVED, held, patched};
use crate::webhook::{APPLIED, Webhook};

/// How long there is no apiserver: longer than a watch waits before it first tries again.
const ABSENCE: Duration = Duration::from_secs(3);

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
        thread::sleep(ABSENCE);
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
