//! Pods that the webhook should have changed but did not see.

use crate::fixture::Fixture;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::controller::{ContainerState, events, wait_for_event, wait_for_pod};

#[test]
fn a_pod_missed_by_the_webhook_is_reported_once() {
    let fixture = Fixture::new();
    // Injected by a revision of Istio that does not exist here, which is enough for a pod to need the hold.
    let namespace = Cluster::get().namespace(&[("trainmesh.dev/inject", "enabled"), ("istio.io/rev", "canary")]);
    let _ = namespace.create(&fixture.group.pod("train").script("train", "sleep 1h")).success();
    let opted_out = fixture.group.pod("alone").label("trainmesh.dev/inject", "disabled");
    let _ = namespace.create(&opted_out.script("train", "sleep 1h")).success();
    let event = wait_for_event(&namespace, "train", "PodMissedByWebhook");
    assert!(event.warning && event.note.contains("mesh.hold"), "{event:?}");
    wait_for_pod(&namespace, "alone", "the pod runs", |pod| pod.state("train") == ContainerState::Running);
    fixture.wait_caught_up();
    let counts: Vec<u64> = events(&namespace, "train").iter().map(|event| event.count).collect();
    assert_eq!(counts, [1]);
    assert_eq!(events(&namespace, "alone").len(), 0);
    assert_eq!(fixture.controller.metric("trainmesh_missed_pods_total"), Some(1));
}

#[test]
fn a_pod_that_needs_no_change_is_not_reported_as_missed() {
    let fixture = Fixture::new();
    fixture.create(&fixture.group.pod("train").native(true).script("train", "true"));
    fixture.wait_finished("train");
    fixture.wait_caught_up();
    assert_eq!(fixture.controller.metric("trainmesh_missed_pods_total"), Some(0));
}
