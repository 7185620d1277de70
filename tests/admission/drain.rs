//! The end in good order: behind a Service, no call is lost while one replica goes and another one stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::{Cluster, PATIENCE, eventually};
use crate::pods::{SERVED, creation, held, pod};
use crate::relay::Relay;
use crate::webhook::{Certificate, Options, Process, Registration, Scope, failed_open, manifest};

/// How long a replica serves on: longer than the Service takes to see that it is no longer ready.
const DRAIN: [&str; 2] = ["--drain", "2s"];
/// Pods that are created before the signal, and after the end.
const SOME: Duration = Duration::from_secs(1);

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
    let webhooks = manifest(options.policy, service.address, &certificate);
    let registration = Registration::new(scope, options.name, webhooks);
    let namespace = registration.namespace(&SERVED);

    let stop = AtomicBool::new(false);
    let names: Vec<String> = thread::scope(|scope| {
        let creators: Vec<_> = (0..3)
            .map(|creator| {
                let (namespace, stop) = (&namespace, &stop);
                scope.spawn(move || {
                    let mut names = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let name = format!("train-{creator}-{}", names.len());
                        let _ = namespace.create(&pod(&name)).success();
                        names.push(name);
                    }
                    names
                })
            })
            .collect();
        thread::sleep(SOME);
        leaving.signal("TERM");
        eventually(PATIENCE, "it says that it is no longer ready", || match leaving.get("/readyz") {
            (503, _) => Ok(()),
            (status, _) => Err(status),
        });
        service.turn(staying.listen);
        assert!(leaving.ended().success());
        thread::sleep(SOME);
        stop.store(true, Ordering::Relaxed);
        creators.into_iter().flat_map(|creator| creator.join().unwrap()).collect()
    });

    for name in &names {
        let request = creation(&namespace, name);
        assert_eq!(failed_open(&request), [""; 0], "{name} of {}: {}", names.len(), request["annotations"]);
        assert!(held(&request["responseObject"]), "{name}");
    }
    for replica in [&leaving, &staying] {
        let served = |event: &Value| event["namespace"] == *namespace.name;
        assert!(replica.log().iter().any(served), "each replica has had its share of {}", names.len());
    }
}
