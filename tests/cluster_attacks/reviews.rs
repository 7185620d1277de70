//! Reviews from anyone who can reach the webhook's port.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fixture::Fixture;
use crate::flood;
use crate::hostile;
use crate::network::Dialer;
use crate::replica::Replica;
use trainmesh_testing::cluster::{Cluster, TIMEOUT, eventually};
use trainmesh_testing::tls::{Reply, post};

/// Number of stalled bodies for each replica.
const STALLED: usize = 512;
/// Number of concurrent clients for each replica.
const CLIENTS: usize = 4;
/// Time to wait for a reply on a busy machine.
const REPLY_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest line that a replica may log about untrusted text.
const MAX_LINE: usize = 4 * 1024;
/// Number of missing namespaces to request.
const UNKNOWN_NAMESPACES: usize = 600;
/// Lookups that the replicas may make together: burst, and rate in a second.
const LOOKUP_LIMIT: (u64, u64) = (2 * 40, 2 * 20);

/// Returns bodies from far too long to just below the limit, flat and nested, with as many nodes as fit.
fn bodies() -> Vec<Vec<u8>> {
    let objects = [
        hostile::zeros(4_000_000),
        hostile::zeros(2_000_000),
        hostile::variables(236_000),
        hostile::empty_containers(600_000),
        hostile::managed_fields(400_000),
    ];
    objects.iter().map(|object| hostile::review("tenant", object)).collect()
}

/// Posts large bodies to all replicas, along with bodies that never complete.
pub fn large_bodies(dialer: &Dialer, webhooks: &[Replica], until: Instant) {
    let bodies = &bodies();
    thread::scope(|scope| {
        for address in webhooks.iter().map(Replica::tls) {
            scope.spawn(move || flood::stalled_bodies(dialer, address, STALLED, until));
            for _ in 0..CLIENTS {
                scope.spawn(move || flood::posts(dialer, address, bodies, until));
            }
        }
    });
}

/// Posts reviews with invalid namespace names.
pub fn bad_namespaces(dialer: &Dialer, webhooks: &[Replica], until: Instant) {
    let bodies: Vec<_> = hostile::namespaces().iter().map(|name| hostile::review(name, POD)).collect();
    let bodies = &bodies;
    thread::scope(|scope| {
        for address in webhooks.iter().map(Replica::tls) {
            scope.spawn(move || flood::posts(dialer, address, bodies, until));
        }
    });
}

const POD: &str = r#"{"metadata":{},"spec":{"containers":[{"name":"a"}]}}"#;

#[test]
fn large_bodies_are_rejected() {
    let fixture = Fixture::new();
    let (dialer, webhooks) = (fixture.dialer(), fixture.webhooks());
    fixture.attack("large and stalled bodies", |until| large_bodies(&dialer, &webhooks, until)).check();
}

#[test]
fn an_invalid_namespace_name_is_rejected_and_never_looked_up() {
    let fixture = Fixture::new();
    let (dialer, webhooks) = (fixture.dialer(), fixture.webhooks());
    let log = Cluster::get().audit_from_now();
    let report = fixture.attack("bad namespaces", |until| {
        for name in hostile::namespaces() {
            let mut stream = dialer.connect(webhooks[0].tls(), REPLY_TIMEOUT).unwrap();
            let Reply { status, body, .. } = post(&mut stream, "/mutate", &hostile::review(&name, POD)).unwrap();
            let shown: String = name.chars().take(40).collect();
            assert_eq!(status, 400, "{shown:?}: {body}");
            assert!(body.len() < MAX_LINE && body.chars().all(|char| char == '\n' || !char.is_control()), "{body:?}");
        }
        bad_namespaces(&dialer, &webhooks, until);
    });
    report.check();

    let account = fixture.release().account("webhook");
    let paths = log.started_events(&account, |event| event["user"]["username"] == *account);
    let paths: Vec<&str> = paths.iter().filter_map(|event| event["requestURI"].as_str()).collect();
    let unexpected: Vec<&&str> = paths
        .iter()
        .filter(|path| path.contains("/pods") || path.contains("version") || path.contains("/namespaces/"))
        .filter(|path| !path.contains(&format!("/namespaces/{}/", fixture.release().namespace.name)))
        .filter(|path| !path.ends_with(&format!("/namespaces/{}", fixture.neighbor.namespace.name)))
        .collect();
    assert_eq!(unexpected, Vec::<&&str>::new(), "requests with text from a review in their path");
    logs_are_bounded(&fixture);
}

#[test]
fn unknown_namespaces_do_not_flood_the_apiserver() {
    let fixture = Fixture::new();
    let (dialer, webhooks) = (fixture.dialer(), fixture.webhooks());
    let bodies: Vec<_> =
        (0..UNKNOWN_NAMESPACES).map(|number| hostile::review(&format!("unknown-{number}"), POD)).collect();
    let log = Cluster::get().audit_from_now();
    let mut seconds = 0;
    let report = fixture.attack("unknown namespaces", |until| {
        let began = Instant::now();
        let (dialer, bodies) = (&dialer, &bodies);
        thread::scope(|scope| {
            for address in webhooks.iter().map(Replica::tls) {
                for part in bodies.chunks(UNKNOWN_NAMESPACES / CLIENTS) {
                    scope.spawn(move || flood::posts(dialer, address, part, until));
                }
            }
        });
        seconds = began.elapsed().as_secs() + 1;
    });
    report.check();
    let looked_up = log.events("unknown-", |event: &Value| event["objectRef"]["resource"] == "namespaces").len();
    let allowed = LOOKUP_LIMIT.0 + LOOKUP_LIMIT.1 * seconds;
    assert!(looked_up as u64 <= allowed, "{looked_up} lookups in {seconds} s, more than {allowed}");
}

/// Checks that untrusted text causes neither long lines nor forged ones.
fn logs_are_bounded(fixture: &Fixture) {
    eventually(TIMEOUT, "the replicas have logged", || {
        let selector = ["logs", "--tail=-1", "-l", "app.kubernetes.io/component=webhook"];
        let log = fixture.release().namespace.kubectl(&selector, "");
        let longest = log.stdout.lines().map(str::len).max();
        match longest {
            None => Err("no line"),
            Some(longest) => {
                assert!(longest <= MAX_LINE, "a line of {longest} bytes");
                assert!(log.stdout.lines().all(|line| line.starts_with('{')), "a forged line");
                Ok(())
            }
        }
    });
}
