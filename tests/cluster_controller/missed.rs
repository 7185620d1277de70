//! Pods that the webhook should have changed but did not see.

use std::time::Duration;

use crate::fixture::Fixture;
use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, within};
use trainmesh_testing::controller::{ContainerState, events, wait_for_event, wait_for_pod};

/// Time after which another pod is created.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

#[test]
fn a_pod_missed_by_the_webhook_is_reported_once() {
    let fixture = Fixture::new();
    // Injected by a revision of Istio that does not exist here, which is enough for a pod to need the hold.
    let namespace = Cluster::get().namespace(&[("trainmesh.dev/inject", "enabled"), ("istio.io/rev", "canary")]);
    let names = wait_for_reports(&fixture, &namespace);
    let _ = namespace.create(&fixture.group.pod("train").script("train", "sleep 1h")).success();
    let opted_out = fixture.group.pod("alone").label("trainmesh.dev/inject", "disabled");
    let _ = namespace.create(&opted_out.script("train", "sleep 1h")).success();
    let event = wait_for_event(&namespace, "train", "PodMissedByWebhook");
    assert!(event.warning && event.note.contains("mesh.hold"), "{event:?}");
    wait_for_pod(&namespace, "alone", "the pod runs", |pod| pod.state("train") == ContainerState::Running);
    fixture.wait_caught_up();
    let counts = |name: &str| events(&namespace, name).iter().map(|event| event.count).collect::<Vec<_>>();
    assert_eq!(counts("train"), [1]);
    assert_eq!(counts("alone").len(), 0);
    let reported = names.iter().filter(|name| !counts(name).is_empty()).count() as u64;
    assert_eq!(fixture.controller.metric("trainmesh_missed_pods_total"), Some(reported + 1));
}

/// Creates pods until one is reported, and returns their names: the controller reports none that is older than its first view of
/// the namespace.
fn wait_for_reports(fixture: &Fixture, namespace: &Namespace) -> Vec<String> {
    let mut names = Vec::new();
    eventually(TIMEOUT, "a pod is reported", || {
        let name = format!("probe-{}", names.len());
        let _ = namespace.create(&fixture.group.pod(&name).script("train", "sleep 1h")).success();
        names.push(name.clone());
        within(PROBE_TIMEOUT, || if events(namespace, &name).is_empty() { Err("no event") } else { Ok(()) })
    });
    names
}

#[test]
fn a_pod_that_needs_no_change_is_not_reported_as_missed() {
    let fixture = Fixture::new();
    fixture.create(&fixture.group.pod("train").native(true).script("train", "true"));
    fixture.wait_finished("train");
    fixture.wait_caught_up();
    assert_eq!(fixture.controller.metric("trainmesh_missed_pods_total"), Some(0));
}
