use rstest::rstest;
use serde_json::json;

use super::*;

fn document(kind: &str, api_version: &str, metadata: &Value) -> Document {
    Document::generated("a.yaml", json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}))
}

#[rstest]
#[case::job("Job", "batch/v1", json!({"name": "a"}), Some("Job team-a/a"))]
#[case::namespace("JobSet", "jobset.x-k8s.io/v1alpha2", json!({"name": "a", "namespace": "b"}), Some("JobSet b/a"))]
#[case::created("TrainJob", "trainer.kubeflow.org/v1alpha1", json!({"name": "a"}), Some("JobSet team-a/a"))]
#[case::generated_name("Job", "batch/v1", json!({"generateName": "a-"}), None)]
#[case::owner_of_a_cluster("RayJob", "ray.io/v1", json!({"name": "a"}), Some("RayJob team-a/a"))]
#[case::owner_of_jobs("CronJob", "batch/v1", json!({"name": "a"}), Some("CronJob team-a/a"))]
#[case::owner_of_components("AppWrapper", "workload.codeflare.dev/v1beta2", json!({"name": "a"}), Some("AppWrapper team-a/a"))]
#[case::invalid_name("Job", "batch/v1", json!({"name": "../secrets/a"}), None)]
#[case::invalid_namespace("Job", "batch/v1", json!({"name": "a", "namespace": "b/c"}), None)]
#[case::no_gang("Deployment", "apps/v1", json!({"name": "a"}), None)]
#[case::unknown("Train", "example.com/v1", json!({"name": "a"}), None)]
fn the_object_of_a_document_is_identified(
    #[case] kind: &str,
    #[case] api_version: &str,
    #[case] metadata: Value,
    #[case] expected: Option<&str>,
) {
    let key = LiveWorkload::key(&document(kind, api_version, &metadata), "team-a");
    let found = key.map(|WorkloadKey { kind, namespace, name, .. }| format!("{kind} {namespace}/{name}"));
    assert_eq!(found.as_deref(), expected);
}

/// The names are text of a status.
#[rstest]
#[case::components(
    json!([
        {"apiVersion": "batch/v1", "kind": "Job", "name": "b"},
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "c"},
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "d"},
    ]),
    &["Job team-a/b", "RayJob team-a/c", "JobSet team-a/d"]
)]
#[case::without_gangs(json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}]), &[])]
#[case::invalid_names(
    json!([
        {"apiVersion": "batch/v1", "kind": "Job", "name": "../secrets/b"}, {"apiVersion": "batch/v1", "kind": "Job", "name": ""},
    ]),
    &[]
)]
fn created_objects_are_identified(#[case] components: Value, #[case] expected: &[&str]) {
    let key =
        LiveWorkload::key(&document("AppWrapper", "workload.codeflare.dev/v1beta2", &json!({"name": "a"})), "team-a");
    let object = json!({"kind": "AppWrapper", "status": {"componentStatus": components}});
    let created = LiveWorkload::created(&key.unwrap(), &object);
    let found = created.iter().map(|WorkloadKey { kind, namespace, name, .. }| format!("{kind} {namespace}/{name}"));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// The pods belong to others, and the phases are those of their operators.
#[rstest]
#[case::running(json!({}), json!({"jobDeploymentStatus": "Running"}), "active")]
#[case::suspended(json!({"suspend": true}), json!({"jobDeploymentStatus": "Suspended"}), "suspended")]
#[case::finished(json!({}), json!({"jobDeploymentStatus": "Failed"}), "finished")]
#[case::condition(json!({}), json!({"conditions": [{"type": "Failed", "status": "True"}]}), "finished")]
fn an_object_whose_pods_belong_to_others_is_read(#[case] spec: Value, #[case] status: Value, #[case] expected: &str) {
    let mut spec = spec;
    spec["rayClusterSpec"] = json!({"headGroupSpec": {"template": {"spec": {}}}});
    let object =
        json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"uid": "u1"}, "spec": spec, "status": status});
    let key = LiveWorkload::key(&document("RayJob", "ray.io/v1", &json!({"name": "a"})), "team-a").unwrap();
    let live = LiveWorkload::new(&key, &object);
    assert_eq!((live.uid.as_str(), workload_state(live.state), live.pods), ("u1", expected, None));
}

#[rstest]
#[case::active(json!({}), json!({}), "active")]
#[case::suspended(json!({"suspend": true}), json!({}), "suspended")]
#[case::finished(json!({}), json!({"conditions": [{"type": "Complete", "status": "True"}]}), "finished")]
fn a_workload_is_read(#[case] fields: Value, #[case] status: Value, #[case] expected: &str) {
    let mut object = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "uid": "u1"}, "status": status,
        "spec": {"completionMode": "Indexed", "parallelism": 4, "completions": 8},
    });
    json_patch::merge(&mut object["spec"], &fields);
    let key = LiveWorkload::key(&document("Job", "batch/v1", &json!({"name": "a"})), "team-a").unwrap();
    let live = LiveWorkload::new(&key, &object);
    assert_eq!((live.uid.as_str(), workload_state(live.state), live.pods), ("u1", expected, Some(4)));
}

/// The label and the owner of a pod are set only where its operator sets them.
#[test]
fn pods_of_the_manifest_get_the_identity_of_the_workload() {
    let live = |kind: &str| LiveWorkload {
        kind: kind.to_owned(),
        name: "a".to_owned(),
        uid: "u1".to_owned(),
        restarts: 3,
        state: WorkloadState::Active,
        pods: None,
    };
    let owner = json!({"kind": "Job", "name": "a", "uid": "0", "controller": true});
    let pod = json!({"metadata": {"ownerReferences": [owner], "labels": {
        "jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "0", "jobset.sigs.k8s.io/restart-attempt": "0",
    }}});
    let identified = |kind: &str| {
        let mut pod = pod.clone();
        live(kind).identify(&mut pod);
        let labels = &pod["metadata"]["labels"];
        [
            &pod["metadata"]["ownerReferences"][0]["uid"],
            &labels["jobset.sigs.k8s.io/jobset-uid"],
            &labels["jobset.sigs.k8s.io/restart-attempt"],
        ]
        .map(|value| value.as_str().unwrap().to_owned())
    };
    assert_eq!(identified("Job"), ["u1", "0", "0"]);
    assert_eq!(identified("JobSet"), ["0", "u1", "3"]);
    for other in [
        json!({"metadata": {}}),
        json!({"metadata": {"labels": {"jobset.sigs.k8s.io/jobset-name": "b", "jobset.sigs.k8s.io/jobset-uid": "0"}}}),
    ] {
        let mut identified = other.clone();
        live("JobSet").identify(&mut identified);
        assert_eq!(identified, other);
    }
}

#[rstest]
#[case::own(json!({"trainmesh.dev/managed": "true"}), json!({"schedulingPolicy": {"gang": {"minCount": 4}}}), true, Some(4))]
#[case::released(json!({"trainmesh.dev/managed": "true"}), json!({"schedulingPolicy": {"basic": {}}}), true, None)]
#[case::of_others(json!({}), json!({"schedulingPolicy": {"gang": {"minCount": 2}}}), false, Some(2))]
fn a_group_is_read(#[case] labels: Value, #[case] spec: Value, #[case] managed: bool, #[case] minimum: Option<u64>) {
    let owners = json!([{"kind": "Job", "name": "train"}]);
    let object = json!({"metadata": {"name": "g", "labels": labels, "ownerReferences": owners}, "spec": spec});
    let group = LiveGroup::new(GroupApi::NativeV1Alpha2, &object);
    assert_eq!((group.managed, group.minimum, group.owner.as_deref()), (managed, minimum, Some("Job/train")));
    assert_eq!((group.name.as_str(), group.deleting), ("g", false));
}
