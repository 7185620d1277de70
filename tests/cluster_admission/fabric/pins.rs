//! Pods of one job keep one revision, and deviations are reported.

use super::fixture::Fixture;
use trainmesh_testing::cluster::{TIMEOUT, eventually};
use trainmesh_testing::controller::{events, wait_for_event};

#[test]
fn a_replaced_pod_gets_the_revision_of_its_job() {
    let fixture = Fixture::new("mlx5_0");
    let mut first = fixture.controller();
    let job = fixture.job("llama");
    let _ = fixture.pod(&job, "a-0");
    let _ = fixture.pod(&job, "a-1");
    let old = fixture.applied("a-0");
    assert_eq!((old.1.as_str(), &fixture.applied("a-1")), ("mlx5_0", &old));
    fixture.wait_until_pinned(&job);

    fixture.set_profile("mlx5_1");
    fixture.wait_would_apply(&job, &old);
    let _ = fixture.pod(&job, "a-1");
    assert_eq!(fixture.applied("a-1"), old, "a sibling is still alive");
    let other = fixture.job("other");
    let _ = fixture.pod(&other, "b-0");
    let new = fixture.applied("b-0");
    assert!(new.1 == "mlx5_1" && new.0 != old.0, "{new:?}");

    first.signal("TERM");
    first.wait_for_exit();
    let second = fixture.controller();
    fixture.wait_until_pinned(&other);
    let _ = fixture.pod(&job, "a-0");
    assert_eq!(fixture.applied("a-0"), old, "a new leader must keep the removed revision");

    let _ = fixture.namespace.kubectl(&["delete", "pod", "a-0", "a-1", "--wait"], "").success();
    // The job's pin is dropped.
    fixture.wait_would_apply(&job, &new);
    let _ = fixture.pod(&job, "a-0");
    assert_eq!(fixture.applied("a-0"), new);
    second.wait_for_metric("trainmesh_leader", 1);
    second.wait_for_metric("trainmesh_fabric_unpinned{what=\"gangs\"}", 0);
}

#[test]
fn a_mixed_gang_is_reported() {
    let fixture = Fixture::new("mlx5");
    let job = fixture.job("llama");
    for name in ["a-0", "a-1", "a-2", "a-3"] {
        let _ = fixture.pod(&job, name);
    }
    let annotate = |pod: &str, annotation: &str| {
        let _ = fixture.namespace.kubectl(&["annotate", "--overwrite", "pod", pod, annotation], "").success();
    };
    annotate("a-2", "trainmesh.dev/fabric-revision=0123456789ab");
    // As if the webhook had missed the pod.
    annotate("a-3", "trainmesh.dev/fabric-revision-");
    let controller = fixture.controller();
    let other = wait_for_event(&fixture.namespace, "a-2", "FabricMixed");
    assert!(other.warning && other.note.contains("0123456789ab"), "{other:?}");
    let missed = wait_for_event(&fixture.namespace, "a-3", "FabricMixed");
    assert!(missed.warning && missed.note.contains("the webhook may have missed the pod"), "{missed:?}");
    // The controller also counts the gangs of other tests, after reporting all in a namespace.
    eventually(TIMEOUT, "the gang is counted", || {
        let mixed = controller.metric("trainmesh_fabric_mixed_gangs");
        if mixed > Some(0) { Ok(()) } else { Err(format!("{mixed:?}")) }
    });
    for unchanged in ["a-0", "a-1"] {
        assert!(events(&fixture.namespace, unchanged).iter().all(|event| event.reason != "FabricMixed"), "{unchanged}");
    }
}
