//! Controllers that end, and rights that are missing: no end is missed, and nothing is asked in vain for long.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::world::World;
use trainmesh_testing::cluster::{Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::controller::{
    ADMIN, Asked, Group, Manifest, PROXY, SERVED, STATUS, Seen, State, asked, see, told, watch,
};

/// Enough for a few rounds of a ladder that leads nowhere.
const SOME_TIME: SignedDuration = SignedDuration::from_secs(20);

/// What a controller needs.
fn rights() -> Vec<Value> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    vec![
        rule("", &["pods", "namespaces"], &["get", "list", "watch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["get", "create", "update", "patch"]),
        rule("", &["pods/exec", "pods/portforward"], &["get", "create"]),
    ]
}

/// Who leads, by the lease.
fn holder(home: &Namespace) -> Value {
    let mut lease = home.get("lease", "trainmesh-controller").expect("the lease is there");
    lease["spec"]["holderIdentity"].take()
}

fn ended_payload(namespace: &Namespace, pod: &Manifest, name: &str) {
    let _ = namespace.create(pod).success();
    watch(namespace, name, "the payload has ended, the proxy runs", |seen| {
        seen.ended("train").is_some() && seen.state(PROXY) == State::Running
    });
}

#[test]
fn what_ended_while_the_controller_was_away_is_ended_when_it_is_back() {
    let mut world = World::new();
    world.controller.signal("KILL");
    world.controller.ended();
    ended_payload(&world.namespace, &world.group.pod("train").runs("train", "true"), "train");
    let back = world.group.start();
    assert_eq!(world.over("train").phase(), "Succeeded");
    drop(back);
}

#[test]
fn another_replica_goes_on_where_the_leader_was_killed() {
    let group = Group::with(&json!({"attemptTimeout": "10s"}));
    let mut leader = group.start();
    leader.led();
    let replica = group.start();
    let namespace = Cluster::get().namespace(&SERVED);
    // The first way hangs: until its time-out the leader is in the middle of the ladder.
    let proxy = json!({"proxyMetadata": {"TEST_HANG_REQUEST": "15000"}});
    ended_payload(&namespace, &group.pod("train").proxy(&proxy).runs("train", "true"), "train");
    eventually(PATIENCE, "the leader has begun", || {
        if asked(&namespace, "train").is_empty() { Err("not yet") } else { Ok(()) }
    });
    leader.signal("KILL");
    leader.ended();
    assert!(!replica.leads(), "the lease has not run out yet");
    assert_eq!(watch(&namespace, "train", "over", Seen::over).phase(), "Succeeded");
    assert!(replica.leads());
    // It knows nothing of what was tried before.
    assert_eq!(asked(&namespace, "train"), [Asked::proxy(ADMIN), Asked::proxy(ADMIN), Asked::proxy(STATUS)]);
}

#[test]
fn a_leader_that_ends_in_good_order_hands_over_at_once() {
    let group = Group::new();
    let mut first = group.start();
    first.led();
    let second = group.start();
    assert!(!second.leads());
    let namespace = Cluster::get().namespace(&SERVED);
    let held_by_the_first = holder(&group.home);
    assert!(held_by_the_first.is_string(), "{held_by_the_first}");
    first.signal("TERM");
    assert!(first.ended().success());
    assert_ne!(holder(&group.home), held_by_the_first, "the second would wait until the lease runs out");
    second.led();
    ended_payload(&namespace, &group.pod("train").runs("train", "true"), "train");
    watch(&namespace, "train", "over", Seen::over);
}

#[test]
fn rights_that_are_missing_are_named_and_tried_seldom_and_nothing_else_is_missing() {
    let group = Group::with(&json!({"portForward": true}));
    let allowed = rights();
    let account = group.account(&json!(allowed[..3]));
    let log = Cluster::get().audit_from_now();
    let controller = group.start_as(&account);
    controller.led();
    let namespace = Cluster::get().namespace(&SERVED);
    ended_payload(&namespace, &group.pod("train").runs("train", "true"), "train");
    let event = told(&namespace, "train", "ProxyEndFailed");
    assert!(event.warning && event.note.contains("create and get on pods/exec"), "{event:?}");

    let tries = eventually(PATIENCE, "some time has passed", || {
        let since = Timestamp::now().duration_since(see(&namespace, "train").ended("train").unwrap());
        if since > SOME_TIME { Ok(asked(&namespace, "train")) } else { Err(since) }
    });
    // Each right was tried once; the next round is due after a minute.
    assert_eq!(tries, [Asked::proxy(ADMIN), Asked::PortForward]);

    account.may(&json!(allowed));
    assert_eq!(watch(&namespace, "train", "over", Seen::over).phase(), "Succeeded");
    let denied = log.events(&account.user, |event| event["responseStatus"]["code"] == 403);
    let others = denied.iter().map(|event| &event["objectRef"]).filter(|object| object["name"] != "train");
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&Value>::new());
}
