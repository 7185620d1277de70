//! Graceful shutdown: behind a Service, no call fails while one replica stops and another keeps running.

use std::sync::Arc;

use serde_json::Value;

use super::relay::Relay;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::load::{under_load, wait_for_new_pods};
use trainmesh_testing::pods::{OPTED_IN, creations, has_hold};
use trainmesh_testing::webhook::{Certificate, Options, Process, Scope, WebhookConfiguration, failed_open, manifest};

/// Draining time: longer than the Service takes to notice that the replica is not ready, also on a busy machine.
const DRAIN: [&str; 2] = ["--drain", "30s"];

#[test]
fn no_call_fails_while_a_replica_shuts_down() {
    Cluster::get().start_mesh();
    let scope = Scope::new();
    let options = Options { arguments: &DRAIN, ..Options::default() };
    let certificate = Arc::new(Certificate::new());
    let home = Cluster::get().namespace(&[]);
    let replica = || Process::start(&home.name, Arc::clone(&certificate), &options);
    let (mut leaving, staying) = (replica(), replica());
    let service = Relay::to(leaving.listen);
    let webhooks = manifest(options.policy, service.address, &certificate.pem);
    let configuration = WebhookConfiguration::new(scope, options.name, webhooks);
    let namespace = configuration.namespace(&OPTED_IN);

    let load = under_load(&namespace, || {
        wait_for_new_pods(&namespace);
        leaving.signal("TERM");
        eventually(TIMEOUT, "the replica is not ready", || match leaving.get("/readyz") {
            (503, _) => Ok(()),
            (status, _) => Err(status),
        });
        service.retarget(staying.listen);
        assert!(leaving.wait_for_exit().success());
        wait_for_new_pods(&namespace);
    });

    assert_eq!(load.failed, [""; 0]);
    for request in creations(&namespace, &load.created) {
        assert_eq!(failed_open(&request), [""; 0], "{}", request["annotations"]);
        assert!(has_hold(&request["responseObject"]), "{}", request["objectRef"]);
    }
    for replica in [&leaving, &staying] {
        let served = |event: &Value| event["namespace"] == *namespace.name;
        assert!(replica.log().iter().any(served), "each replica must serve some of {} pods", load.created.len());
    }
}
