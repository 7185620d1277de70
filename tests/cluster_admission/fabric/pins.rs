//! The pods of one job stay alike, and it is told when they are not.

use super::world::World;
use trainmesh_testing::cluster::{PATIENCE, eventually};
use trainmesh_testing::controller::{events, told};

#[test]
fn a_member_that_is_replaced_is_given_what_the_others_have() {
    let world = World::new("mlx5_0");
    let mut first = world.controller();
    let job = world.job("llama");
    let _ = world.pod(&job, "a-0");
    let _ = world.pod(&job, "a-1");
    let old = world.given("a-0");
    assert_eq!((old.1.as_str(), &world.given("a-1")), ("mlx5_0", &old));
    world.noted(&job);

    world.profile("mlx5_1");
    let _ = world.pod(&job, "a-1");
    assert_eq!(world.given("a-1"), old, "its sibling lives");
    let other = world.job("other");
    let _ = world.pod(&other, "b-0");
    let new = world.given("b-0");
    assert!(new.1 == "mlx5_1" && new.0 != old.0, "{new:?}");

    first.signal("TERM");
    first.ended();
    let second = world.controller();
    world.noted(&other);
    let _ = world.pod(&job, "a-0");
    assert_eq!(world.given("a-0"), old, "another leader knows what nobody configures any more");

    let _ = world.namespace.kubectl(&["delete", "pod", "a-0", "a-1", "--wait"], "").success();
    eventually(PATIENCE, "the job is let go", || {
        let _ = world.pod(&job, "a-0");
        let given = world.given("a-0");
        if given == new { Ok(()) } else { Err(format!("{given:?}")) }
    });
    // A leader that has dropped nothing has no such series.
    let [leads, unpinned] =
        ["trainmesh_leader", "trainmesh_fabric_unpinned{what=\"gangs\"}"].map(|it| second.metric(it));
    assert_eq!((leads, unpinned), (Some(1), None));
}

#[test]
fn a_mixed_gang_is_told_of() {
    let world = World::new("mlx5");
    let job = world.job("llama");
    for name in ["a-0", "a-1", "a-2", "a-3"] {
        let _ = world.pod(&job, name);
    }
    let annotate = |pod: &str, annotation: &str| {
        let _ = world.namespace.kubectl(&["annotate", "--overwrite", "pod", pod, annotation], "").success();
    };
    annotate("a-2", "trainmesh.dev/fabric-revision=0123456789ab");
    // As if the webhook had not been asked.
    annotate("a-3", "trainmesh.dev/fabric-revision-");
    let controller = world.controller();
    let other = told(&world.namespace, "a-2", "FabricMixed");
    assert!(other.warning && other.note.contains("0123456789ab"), "{other:?}");
    let missed = told(&world.namespace, "a-3", "FabricMixed");
    assert!(missed.warning && missed.note.contains("did the webhook miss it"), "{missed:?}");
    // The controller sees the gangs of other tests too, and counts when it has told of all in a namespace.
    eventually(PATIENCE, "the gang is counted", || {
        let mixed = controller.metric("trainmesh_fabric_mixed_gangs");
        if mixed > Some(0) { Ok(()) } else { Err(format!("{mixed:?}")) }
    });
    for alike in ["a-0", "a-1"] {
        assert!(events(&world.namespace, alike).iter().all(|event| event.reason != "FabricMixed"), "{alike}");
    }
}
