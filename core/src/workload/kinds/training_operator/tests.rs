use rstest::rstest;

use super::*;
use crate::workload::identify;
use crate::workload::template::testing::{error, render};

fn job(specs: &Value) -> Value {
    json!({
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
        "metadata": {"name": "llama", "uid": "u-1"}, "spec": {"pytorchReplicaSpecs": specs},
    })
}

#[test]
fn the_pod_is_as_the_operator_creates_it() {
    let template = json!({
        "metadata": {"name": "ignored", "labels": {"app": "x"}, "annotations": {"note": "n"}, "finalizers": ["f"]},
        "spec": {"restartPolicy": "Always", "containers": [
            {"name": "sidecar", "image": "h"},
            {"name": "pytorch", "image": "p", "ports": [{"name": "http", "containerPort": 80}], "env": [{"name": "RANK", "value": "7"}]},
        ]},
    });
    let roles =
        render(&job(&json!({"Worker": {"replicas": 2, "restartPolicy": "ExitCode", "template": template}}))).unwrap();
    let env = json!([
        {"name": "PYTHONUNBUFFERED", "value": "1"}, {"name": "PET_NPROC_PER_NODE", "value": "auto"}, {"name": "PET_NNODES", "value": "2"},
    ]);
    let mut own = vec![json!({"name": "RANK", "value": "7"})];
    own.extend(env.as_array().unwrap().clone());
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "llama-worker-0", "namespace": "team",
            "labels": {
                "app": "x",
                "training.kubeflow.org/operator-name": "pytorchjob-controller",
                "training.kubeflow.org/job-name": "llama",
                "training.kubeflow.org/replica-type": "worker",
                "training.kubeflow.org/replica-index": "0",
                "training.kubeflow.org/job-role": "master",
            },
            "annotations": {"note": "n"},
            "ownerReferences": [{
                "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "llama", "uid": "u-1",
                "controller": true, "blockOwnerDeletion": true,
            }],
            "finalizers": ["f"],
        },
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "sidecar", "image": "h", "env": env},
            {
                "name": "pytorch", "image": "p",
                "ports": [{"name": "http", "containerPort": 80}, {"name": "pytorchjob-port", "containerPort": 23456}],
                "env": own,
            },
        ]},
    });
    assert_eq!(roles[0].pod.to_string(), expected.to_string());
}

#[rstest]
#[case::missing(json!(null), "spec.pytorchReplicaSpecs is missing")]
#[case::empty(json!({}), "spec.pytorchReplicaSpecs is missing")]
#[case::list(json!([]), "spec.pytorchReplicaSpecs is []: expected an object")]
#[case::no_template(json!({"Worker": {}}), "spec.pytorchReplicaSpecs.Worker.template.spec.containers is missing")]
#[case::role_is_null(json!({"Worker": null}), "spec.pytorchReplicaSpecs.Worker.template.spec.containers is missing")]
#[case::unknown_replica_type(json!({"Boss": {}}), "spec.pytorchReplicaSpecs.Boss is an unknown replica type: expected Master or Worker")]
#[case::wrong_case(json!({"worker": {}}), "spec.pytorchReplicaSpecs.worker is an unknown replica type: expected Master or Worker")]
#[case::other_container(
    json!({"Worker": {"template": {"spec": {"containers": [{"name": "main"}]}}}}),
    "a container named pytorch in spec.pytorchReplicaSpecs.Worker.template.spec.containers is missing"
)]
#[case::negative(
    json!({"Worker": {"replicas": -1, "template": {"spec": {"containers": [{"name": "pytorch"}]}}}}),
    "spec.pytorchReplicaSpecs.Worker.replicas is -1: expected a whole number from 0 to 2147483647"
)]
fn rejects_what_the_operator_rejects(#[case] specs: Value, #[case] message: &str) {
    assert_eq!(error(&job(&specs)), message);
}

#[rstest]
#[case::default(json!({}), (1, "OnFailure"))]
#[case::none(json!({"replicas": 0, "restartPolicy": "Always"}), (0, "Always"))]
fn replicas_and_restart_policy_have_defaults(#[case] spec: Value, #[case] expected: (u64, &str)) {
    let mut spec = spec;
    spec["template"] = json!({"spec": {"containers": [{"name": "pytorch"}]}});
    let roles = render(&job(&json!({"Worker": spec}))).unwrap();
    assert_eq!((roles[0].replicas.unwrap(), roles[0].pod["spec"]["restartPolicy"].as_str().unwrap()), expected);
}

#[test]
fn a_generated_name_has_zeros_and_a_note() {
    let mut job = job(&json!({"Worker": {"template": {"spec": {"containers": [{"name": "pytorch"}]}}}}));
    job["metadata"] = json!({"generateName": "llama-"});
    let roles = render(&job).unwrap();
    assert_eq!(roles[0].pod["metadata"]["name"], "llama-00000-worker-0");
    assert_eq!(roles[0].notes.len(), 1);
}

#[rstest]
#[case::pytorch("pytorchjob-controller", Some("PyTorchJob"))]
#[case::tensorflow("tfjob-controller", Some("TFJob"))]
#[case::xgboost("xgboostjob-controller", Some("XGBoostJob"))]
#[case::paddle("paddlejob-controller", Some("PaddleJob"))]
#[case::jax("jaxjob-controller", Some("JAXJob"))]
#[case::mpi("mpijob-controller", Some("MPIJob"))]
#[case::unknown("other-controller", None)]
fn a_pod_is_identified_by_its_operator(#[case] operator: &str, #[case] kind: Option<&str>) {
    let raw = json!({"metadata": {"labels": {OPERATOR_NAME: operator, JOB_NAME: "j", REPLICA_TYPE: "worker", REPLICA_INDEX: "3"}}});
    let member = identify(Pod::new(&raw));
    assert_eq!(member.map(|member| member.kind.kind), kind);
    if let Some(member) = member {
        assert_eq!((member.workload, member.role, member.index, member.training), ("j", Some("worker"), Some(3), true));
    }
}
