//! Rules that the webhook refused, according to the pod's annotation.

use crate::fixture::Fixture;
use trainmesh_testing::cluster::Cluster;
use trainmesh_testing::controller::{ContainerState, events, wait_for_event, wait_for_pod};

const REFUSED: &str = "trainmesh.dev/refused";

#[test]
fn a_refused_rule_is_reported_once() {
    let fixture = Fixture::new();
    let pod = || {
        fixture
            .group
            .pod("train")
            .annotation(REFUSED, "fabric=FabricGuarded,fabric=\u{1b},gang=x")
            .script("train", "sleep 1h")
    };
    let enabled = Cluster::get().namespace(&[("trainmesh.dev/inject", "enabled")]);
    // Here the webhook is never called, so the annotation was copied.
    let other = Cluster::get().namespace(&[]);
    for namespace in [&enabled, &other] {
        let _ = namespace.create(&pod()).success();
    }
    let event = wait_for_event(&enabled, "train", "RuleRefused");
    assert!(event.warning && event.note.starts_with("refused fabric (FabricGuarded): "), "{event:?}");
    assert!(!event.note.contains("gang"), "{event:?}");
    wait_for_pod(&other, "train", "the pod runs", |pod| pod.state("train") == ContainerState::Running);
    fixture.wait_caught_up();
    let counts: Vec<u64> = events(&enabled, "train").iter().map(|event| event.count).collect();
    assert_eq!(counts, [1]);
    assert_eq!(events(&other, "train").len(), 0);
}
