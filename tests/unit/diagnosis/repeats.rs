//! Objects that the input contains several times.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::{ClusterSnapshot, Selection, diagnose, inventory};

use super::mesh::outlived;
use super::objects::{NOW, event, job_with, pytorchjob, rank, waiting, with};

/// Returns worker 0 as it was at a `resourceVersion`.
fn version(version: Option<&str>, patch: Value) -> Value {
    with(with(rank(1), patch), json!({"metadata": {"resourceVersion": version}}))
}

const FAILS: &str = "ImagePullFails";

#[rstest]
#[case::the_same(version(Some("7"), json!({})), version(Some("7"), json!({})), &[])]
#[case::newer_is_later(version(Some("9"), json!({})), version(Some("10"), waiting("ImagePullBackOff", "")), &[FAILS])]
#[case::newer_is_earlier(version(Some("10"), waiting("ImagePullBackOff", "")), version(Some("9"), json!({})), &[FAILS])]
#[case::without_versions(version(None, json!({})), version(None, waiting("ImagePullBackOff", "")), &[FAILS])]
#[case::recreated(version(Some("9"), waiting("ImagePullBackOff", "")), version(Some("10"), json!({"metadata": {"uid": "new"}})), &[])]
fn the_newest_version_counts(#[case] first: Value, #[case] second: Value, #[case] expected: &[&str]) {
    let mut snapshot = ClusterSnapshot::default();
    let dump = [rank(0), first, pytorchjob(1), event("Node", "node-0", "NodeReady", "", 60)];
    for object in dump.iter().chain([&rank(0), &second, &pytorchjob(1), &dump[3]]) {
        assert!(snapshot.add(object, "default").unwrap());
    }
    let now = NOW.parse().unwrap();
    let report = diagnose(&snapshot, &Selection::default(), now);
    let codes: Vec<&str> = report.diagnoses.iter().map(|found| found.code.code()).collect();
    assert_eq!((report.pods, snapshot.repeats(), codes.as_slice()), (2, 4, expected));
    assert_eq!(inventory(&snapshot, &Selection::default(), now).entries[0].accelerators, 16);
}

/// Returns the namespace as it was at a `resourceVersion`.
fn namespace(version: Option<&str>, inject: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "team-a", "resourceVersion": version, "labels": {"trainmesh.dev/inject": inject}}})
}

const ENABLED: &str = "the controller of trainmesh should have terminated it";
const DISABLED: &str = "the controller of trainmesh terminates sidecars only in namespaces with the label";

#[rstest]
#[case::newer_is_later(namespace(Some("9"), "disabled"), namespace(Some("10"), "enabled"), ENABLED)]
#[case::newer_is_earlier(namespace(Some("10"), "enabled"), namespace(Some("9"), "disabled"), ENABLED)]
#[case::without_versions(namespace(None, "enabled"), namespace(None, "disabled"), DISABLED)]
fn the_newest_version_of_a_namespace_counts(#[case] first: Value, #[case] second: Value, #[case] fix: &str) {
    let mut snapshot = ClusterSnapshot::default();
    // The namespaces of the files are those of objects without one, and a Namespace is in none.
    snapshot.add(&first, "default").unwrap();
    snapshot.add(&second, "team-a").unwrap();
    let managed = with(outlived(), json!({"metadata": {"labels": {"trainmesh.dev/managed": "true"}}}));
    snapshot.add(&managed, "default").unwrap();
    assert_eq!(snapshot.repeats(), 1);
    let found = diagnose(&snapshot, &Selection::default(), NOW.parse().unwrap()).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

#[test]
fn objects_of_other_namespaces_and_kinds_are_others() {
    let mut snapshot = ClusterSnapshot::default();
    let other = with(rank(0), json!({"metadata": {"namespace": "team-b"}}));
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": "llama-master-0"}});
    let unnamed = json!({"apiVersion": "v1", "kind": "Pod"});
    for object in [&rank(0), &other, &service, &unnamed, &unnamed].into_iter().chain(&job_with(3, json!({}))[1..]) {
        snapshot.add(object, "default").unwrap();
    }
    assert_eq!(snapshot.repeats(), 0);
}

#[test]
fn both_groups_of_events_are_one() {
    let mut snapshot = ClusterSnapshot::default();
    let event = event("Pod", "llama-master-0", "Pulled", "", 60);
    let other = with(event.clone(), json!({"apiVersion": "events.k8s.io/v1"}));
    snapshot.add(&event, "default").unwrap();
    snapshot.add(&other, "default").unwrap();
    assert_eq!(snapshot.repeats(), 1);
}
