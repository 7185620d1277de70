//! Pods that the webhook should have changed and has not seen.

use crate::world::World;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::controller::{State, events, told, watch};

#[test]
fn a_pod_that_the_webhook_has_missed_is_told_of_once() {
    let world = World::new();
    // Injected by a revision of Istio that is not here: all that a pod needs to want the hold.
    let namespace = Cluster::get().namespace(&[("trainmesh.dev/inject", "enabled"), ("istio.io/rev", "canary")]);
    let _ = namespace.create(&world.group.pod("train").runs("train", "sleep 1h")).success();
    let opted_out = world.group.pod("alone").label("trainmesh.dev/inject", "disabled");
    let _ = namespace.create(&opted_out.runs("train", "sleep 1h")).success();
    let event = told(&namespace, "train", "PodMissedByWebhook");
    assert!(event.warning && event.note.contains("mesh.hold"), "{event:?}");
    watch(&namespace, "alone", "it runs", |seen| seen.state("train") == State::Running);
    world.catches_up();
    let counts: Vec<u64> = events(&namespace, "train").iter().map(|event| event.count).collect();
    assert_eq!(counts, [1]);
    assert_eq!(events(&namespace, "alone").len(), 0);
    assert_eq!(world.controller.metric("trainmesh_missed_pods_total"), Some(1));
}

#[test]
fn a_pod_that_needs_nothing_was_not_missed() {
    let world = World::new();
    world.create(&world.group.pod("train").native(true).runs("train", "true"));
    world.over("train");
    world.catches_up();
    assert_eq!(world.controller.metric("trainmesh_missed_pods_total"), Some(0));
}
