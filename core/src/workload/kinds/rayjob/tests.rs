use rstest::rstest;

use super::*;
use crate::workload::template::testing::{check, error, render};

fn ray_job(spec: &Value) -> Value {
    let pod = json!({"spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.44"}]}});
    let mut raw = json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "tune"}, "spec": {
        "entrypoint": "python train.py",
        "rayClusterSpec": {
            "headGroupSpec": {"template": pod},
            "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "template": pod}],
        },
    }});
    raw["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    raw
}

#[rstest]
#[case::default_template(json!({}), json!({
    "/metadata/generateName": "tune-",
    "/metadata/ownerReferences/0/apiVersion": "batch/v1",
    "/metadata/ownerReferences/0/name": "tune",
    "/metadata/finalizers": ["batch.kubernetes.io/job-tracking"],
    "/metadata/labels/job-name": "tune",
    "/metadata/labels/ray.io~1originated-from-cr-name": "tune",
    "/metadata/labels/ray.io~1originated-from-crd": "RayJob",
    "/metadata/labels/app.kubernetes.io~1created-by": "kuberay-operator",
    "/spec/restartPolicy": "Never",
    "/spec/containers/0/name": "ray-job-submitter",
    "/spec/containers/0/image": "rayproject/ray:2.44",
    "/spec/containers/0/env": [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", "value": "tune-00000-head-svc.team.svc.cluster.local:8265"},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": "tune-00000"},
    ],
}))]
#[case::own_template(
    json!({"jobId": "id", "submitterPodTemplate": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "mine"}]}}}),
    json!({
        "/spec/restartPolicy": "OnFailure",
        "/spec/containers/0/name": "mine",
        "/spec/containers/0/env/2": {"name": "RAY_JOB_SUBMISSION_ID", "value": "id"},
    })
)]
#[case::existing_cluster(
    json!({"rayClusterSpec": null, "clusterSelector": {"ray.io/cluster": "old"}, "submitterPodTemplate": {"spec": {"containers": [{}]}}}),
    json!({"/spec/containers/0/env/1/value": "old-head-svc.team.svc.cluster.local:8265"})
)]
fn the_submitter_receives_the_cluster_address(#[case] spec: Value, #[case] expected: Value) {
    check(&ray_job(&spec), "submitter", 1, &expected);
}

/// The image of a cluster that exists is not known.
#[test]
fn the_submitter_of_an_existing_cluster_has_no_image() {
    let job = ray_job(&json!({"rayClusterSpec": null, "clusterSelector": {"ray.io/cluster": "old"}}));
    let roles = render(&job).unwrap();
    assert_eq!(roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>(), ["submitter"]);
    assert_eq!(roles[0].pod["spec"]["containers"][0].get("image"), None);
    assert!(roles[0].notes.iter().any(|note| note == UNKNOWN_IMAGE_NOTE));
}

/// The status of a job that exists contains the name, which is no longer random.
#[rstest]
#[case::known(json!("tune-x7k2p"), "tune-x7k2p", false)]
#[case::invalid(json!("Tune X"), "tune-00000", true)]
#[case::of_another_type(json!({}), "tune-00000", true)]
fn the_name_of_the_cluster_is_that_of_the_status(#[case] name: Value, #[case] expected: &str, #[case] is_random: bool) {
    let mut job = ray_job(&json!({}));
    job["status"]["rayClusterName"] = name;
    let roles = render(&job).unwrap();
    let head = &roles[0];
    assert_eq!(head.pod["metadata"]["ownerReferences"][0]["name"], expected);
    assert_eq!(head.pod["metadata"]["labels"]["ray.io/cluster"], expected);
    assert_eq!(head.notes.iter().any(|note| note == RANDOM_NAME_NOTE), is_random);
}

#[rstest]
#[case::job(json!({}), &["head", "gpu", "submitter"])]
#[case::head_without_containers(json!({"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"contaners": [{"name": "ray"}]}}}}}), &["head"])]
#[case::head_with_an_empty_list(json!({"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": []}}}}}), &["head"])]
#[case::own_submitter_of_an_empty_head(
    json!({
        "rayClusterSpec": {"headGroupSpec": {"template": {"spec": {}}}},
        "submitterPodTemplate": {"spec": {"containers": [{"name": "mine"}]}},
    }),
    &["head", "submitter"]
)]
#[case::http(json!({"submissionMode": "HTTPMode"}), &["head", "gpu"])]
#[case::sidecar(json!({"submissionMode": "SidecarMode"}), &["head", "gpu"])]
#[case::interactive(json!({"submissionMode": "InteractiveMode"}), &["head", "gpu"])]
fn roles_depend_on_the_submission_mode(#[case] spec: Value, #[case] expected: &[&str]) {
    let roles = render(&ray_job(&spec)).unwrap();
    assert_eq!(roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>(), expected);
}

#[test]
fn sidecar_mode_adds_the_submitter_to_the_head() {
    check(
        &ray_job(&json!({"submissionMode": "SidecarMode"})),
        "head",
        1,
        &json!({
            "/metadata/generateName": "tune-00000-head-",
            "/spec/restartPolicy": "Never",
            "/spec/containers/1/name": "ray-job-submitter",
            "/spec/containers/1/env/0/name": "PYTHONUNBUFFERED",
        }),
    );
    let mut raw = ray_job(&json!({"submissionMode": "SidecarMode"}));
    raw["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] = true.into();
    check(
        &raw,
        "head",
        1,
        &json!({"/spec/containers/1/name": "ray-job-submitter", "/spec/containers/2/name": "autoscaler"}),
    );
}

#[rstest]
#[case::no_cluster(json!({"rayClusterSpec": null}), "spec.rayClusterSpec is missing: for a RayCluster that exists, set clusterSelector with its name as ray.io/cluster")]
fn an_invalid_spec_is_rejected(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(error(&ray_job(&spec)), expected);
}

#[test]
fn the_submitter_is_identified_as_part_of_the_ray_job() {
    let labels = json!({"ray.io/originated-from-cr-name": "tune", "ray.io/originated-from-crd": "RayJob", "batch.kubernetes.io/job-name": "tune"});
    let raw = json!({"metadata": {"labels": labels}});
    let expected =
        PodIdentity { kind: &KIND, workload: "tune", role: Some("submitter"), index: Some(0), training: true };
    assert_eq!(crate::workload::identify(Pod::new(&raw)), Some(expected));
}
