//! Stopped controllers and missing permissions: every termination is handled, and attempts without permission are rare.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::controller::{
    ContainerRequest, ContainerState, Group, OPTED_IN, ObservedPod, PROXY, PodManifest, QUIT_AGENT, QUIT_ENVOY,
    container_requests, observe, requests_until_termination, wait_for_event, wait_for_pod,
};

/// Enough for several rounds of methods that all fail.
const SEVERAL_ROUNDS: SignedDuration = SignedDuration::from_secs(20);

/// Returns the RBAC rules that a controller needs.
fn rbac_rules() -> Vec<Value> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    vec![
        rule("", &["pods", "namespaces"], &["get", "list", "watch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("", &["nodes"], &["list", "watch"]),
        rule("coordination.k8s.io", &["leases"], &["get", "create", "update", "patch"]),
        rule("", &["configmaps"], &["get", "patch"]),
        json!({"apiGroups": GroupApi::ALL.map(GroupApi::group), "resources": [GroupApi::PLURAL], "verbs": ["list"]}),
        rule("", &["pods/exec", "pods/portforward"], &["get", "create"]),
    ]
}

/// Returns the holder of the lease.
fn holder(home: &Namespace) -> Value {
    let mut lease = home.get("lease", "trainmesh-controller").expect("the lease exists");
    lease["spec"]["holderIdentity"].take()
}

fn create_hanging_pod(namespace: &Namespace, pod: &PodManifest, name: &str) {
    let _ = namespace.create(pod).success();
    wait_for_pod(namespace, name, "the main container has terminated, and the proxy runs", |pod| {
        pod.terminated_at("train").is_some() && pod.state(PROXY) == ContainerState::Running
    });
}

#[test]
fn terminations_during_an_outage_of_the_controller_are_handled() {
    let mut fixture = Fixture::new();
    fixture.controller.signal("KILL");
    fixture.controller.wait_for_exit();
    create_hanging_pod(&fixture.namespace, &fixture.group.pod("train").script("train", "true"), "train");
    let restarted = fixture.group.start();
    assert_eq!(fixture.wait_finished("train").phase(), "Succeeded");
    drop(restarted);
}

#[test]
fn another_replica_takes_over_when_the_leader_is_killed() {
    let group = Group::with_termination(&json!({"attemptTimeout": "60s"}));
    let mut leader = group.start();
    leader.wait_for_leadership();
    let replica = group.start();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    // The first method hangs: until its timeout, the leader has not tried the others.
    let proxy = json!({"proxyMetadata": {"TEST_HANG_REQUEST": "15000"}});
    create_hanging_pod(&namespace, &group.pod("train").proxy_config(&proxy).script("train", "true"), "train");
    eventually(TIMEOUT, "the leader has sent a request", || {
        if container_requests(&namespace, "train").is_empty() { Err("not yet") } else { Ok(()) }
    });
    leader.signal("KILL");
    leader.wait_for_exit();
    let attempts = container_requests(&namespace, "train").len();
    let pod = wait_for_pod(&namespace, "train", "finished", ObservedPod::is_finished);
    assert_eq!(pod.phase(), "Succeeded");
    replica.wait_for_leadership();
    // The new leader has no record of the earlier attempts, and repeats the first method.
    assert!(container_requests(&namespace, "train").len() > attempts + 1, "{pod}");
    let requests = requests_until_termination(&namespace, &pod);
    assert_eq!(requests, [ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::proxy(QUIT_AGENT)]);
}

#[test]
fn a_leader_that_shuts_down_releases_the_lease() {
    let group = Group::new();
    let mut first = group.start();
    first.wait_for_leadership();
    let second = group.start();
    assert!(!second.is_leader());
    let namespace = Cluster::get().namespace(&OPTED_IN);
    let first_holder = holder(&group.lease_namespace);
    assert!(first_holder.is_string(), "{first_holder}");
    first.signal("TERM");
    assert!(first.wait_for_exit().success());
    assert_ne!(holder(&group.lease_namespace), first_holder, "the second would have to wait until the lease expires");
    second.wait_for_leadership();
    let _ = namespace.create(&group.pod("train").script("train", "true")).success();
    wait_for_pod(&namespace, "train", "finished", ObservedPod::is_finished);
}

#[test]
fn missing_permissions_are_reported_and_rarely_retried() {
    let group = Group::with_termination(&json!({"portForward": true}));
    let allowed = rbac_rules();
    let account = group.account(&json!(allowed[..6]));
    let log = Cluster::get().audit_from_now();
    let controller = group.start_as(&account);
    controller.wait_for_leadership();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    create_hanging_pod(&namespace, &group.pod("train").script("train", "true"), "train");
    let event = wait_for_event(&namespace, "train", "ProxyEndFailed");
    assert!(event.warning && event.note.contains("create and get on pods/exec"), "{event:?}");

    let terminated = observe(&namespace, "train").terminated_at("train").unwrap();
    let since = || Timestamp::now().duration_since(terminated);
    let requests = eventually(TIMEOUT, "several rounds would have passed", || {
        let (elapsed, requests) = (since(), container_requests(&namespace, "train"));
        if elapsed > SEVERAL_ROUNDS { Ok(requests) } else { Err(elapsed) }
    });
    // Each forbidden method is tried once, and again after a minute.
    let round = [ContainerRequest::proxy(QUIT_ENVOY), ContainerRequest::PortForward];
    let rounds = 1 + usize::try_from(since().as_secs()).unwrap() / 60;
    assert!(requests.starts_with(&round) && requests.len() <= rounds * round.len(), "{rounds} rounds: {requests:?}");

    account.set_rules(&json!(allowed));
    assert_eq!(wait_for_pod(&namespace, "train", "finished", ObservedPod::is_finished).phase(), "Succeeded");
    let denied = log.events(&account.user, |event| event["responseStatus"]["code"] == 403);
    let others = denied.iter().map(|event| &event["objectRef"]).filter(|object| object["name"] != "train");
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&Value>::new());
}
