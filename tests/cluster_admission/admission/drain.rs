//! The end in good order: behind a Service, no call is lost while one replica goes and another one stays.

use std::sync::Arc;

use serde_json::Value;

use super::relay::Relay;
use trainmesh_testing::cluster::{Cluster, PATIENCE, eventually};
use trainmesh_testing::load::{goes_on, under_load};
use trainmesh_testing::pods::{SERVED, creations, held};
use trainmesh_testing::webhook::{Certificate, Options, Process, Registration, Scope, failed_open, manifest};

/// How long a replica serves on: longer than the Service takes to see that it is no longer ready.
const DRAIN: [&str; 2] = ["--drain", "2s"];

#[test]
fn no_call_is_lost_while_a_replica_ends() {
    Cluster::get().mesh();
    let scope = Scope::new();
    let options = Options { arguments: &DRAIN, ..Options::default() };
    let certificate = Arc::new(Certificate::new());
    let home = Cluster::get().namespace(&[]);
    let replica = || Process::start(&home.name, Arc::clone(&certificate), &options);
    let (mut leaving, staying) = (replica(), replica());
    let service = Relay::to(leaving.listen);
    let webhooks = manifest(options.policy, service.address, &certificate.pem);
    let registration = Registration::new(scope, options.name, webhooks);
    let namespace = registration.namespace(&SERVED);

    let load = under_load(&namespace, || {
        goes_on(&namespace);
        leaving.signal("TERM");
        eventually(PATIENCE, "it says that it is no longer ready", || match leaving.get("/readyz") {
            (503, _) => Ok(()),
            (status, _) => Err(status),
        });
        service.turn(staying.listen);
        assert!(leaving.ended().success());
        goes_on(&namespace);
    });

    assert_eq!(load.failed, [""; 0]);
    for request in creations(&namespace, &load.created) {
        assert_eq!(failed_open(&request), [""; 0], "{}", request["annotations"]);
        assert!(held(&request["responseObject"]), "{}", request["objectRef"]);
    }
    for replica in [&leaving, &staying] {
        let served = |event: &Value| event["namespace"] == *namespace.name;
        assert!(replica.log().iter().any(served), "each replica has had its share of {}", load.created.len());
    }
}
